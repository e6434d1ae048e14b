#pragma once

#include "runtime/aot/driver/driver.h"
#include "runtime/aot/driver/pinned_pool.h"

#include <array>
#include <cstddef>

namespace imbrex::driver {

/// The bytes in which a view is told to the engine that loads boxes of it. A launch passes them at
/// a multiple of 64.
using BoxMapBytes = std::array<std::byte, 128>;

/// What is told of a view: by its axes, outermost first, in elements.
struct Boxes {
  std::span<const std::int64_t> box, extents, strides;
  std::int32_t elementBytes = 1;
  std::int32_t swizzleBytes = 0; ///< 32, 64 or 128; 0: none.
  void *data = nullptr;          ///< In the device's memory.
};

/// What a launch asks of the driver besides; without any of it, it is a plain one.
struct LaunchAttributes {
  std::array<std::int32_t, 3> cluster{1, 1, 1}; ///< Blocks of a cluster along x, y, z.
  bool isCooperative = false;  ///< All blocks run at once, or the driver refuses the launch.
  bool isProgrammatic = false; ///< May start before the one in front of it in its stream has ended.

  std::int32_t clusterBlocks() const { return cluster[0] * cluster[1] * cluster[2]; }
  bool areAny() const { return isCooperative || isProgrammatic || clusterBlocks() > 1; }
};

struct Launch {
  std::array<std::int32_t, 3> grid{1, 1, 1}; ///< Blocks along x, y, z.
  std::int32_t threads = 0;                  ///< Of a block.
  std::int32_t sharedBytes = 0;              ///< Of a block, besides what the code has of itself.
  std::span<const std::byte> arguments = {}; ///< Packed, as the kernel has them.
  std::span<void *const> each = {};          ///< Where each is; empty: as they lie.
  LaunchAttributes attributes = {};          ///< With some, `each` says where arguments are.
  void *stream = nullptr;                    ///< Null: the device's default one.
};

/// What other contexts than a device's own have loaded of a module.
class LoadedElsewhere;

/// Code that a device has loaded, and the kernel in it.
struct Module {
  void *module = nullptr, *function = nullptr;
  LoadedElsewhere *elsewhere = nullptr;
};

/// A launch of a GPU's kernel in the words of a driver's call, which may be kept. It leads into
/// itself, into the arguments, and to the GPU.
class LaunchWords {
public:
  LaunchWords() = default;
  LaunchWords(const LaunchWords &) = delete;
  LaunchWords &operator=(const LaunchWords &) = delete;

  void set(const Launch &launch, const Gpu &gpu, const Module &kernel);

  /// As Gpu::start, of the GPU that they are for.
  int start(void *stream) const;

private:
  friend class Gpu;
  using Call = decltype(Driver::launch);
  static constexpr std::size_t kOwn = 5; // behind the word that ends the driver's part of the list

  // The driver's own, of a plain launch: to choose costs those nothing.
  Call call_ = nullptr;
  std::array<unsigned, 3> grid_{};
  unsigned threads_ = 0, sharedBytes_ = 0;
  void **each_ = nullptr, **extra_ = nullptr; // one of them, or for Gpu::callAttributed both
  std::size_t bytes_ = 0;
  std::array<void *, kOwn + 1> list_{};
  Module kernel_;
  LaunchAttributes attributes_;
  const Gpu *gpu_ = nullptr;
};

/// A launch with attributes, as it is handed to the driver.
struct AttributedLaunch {
  void *function;
  std::array<unsigned, 3> grid;
  unsigned threads, sharedBytes;
  void *stream;
  void **each, **extra; ///< One of them.
  const LaunchAttributes &attributes;
};

/// What a driver is told of a kernel before it is launched.
struct KernelNeeds {
  std::int32_t sharedBytes = 0;   ///< Of a block, that launches bring.
  std::int32_t clusterBlocks = 1; ///< Of its launches' clusters.
};

/// A kernel that is to be loaded.
struct KernelCode {
  const char *code; ///< An image, or assembly that ends with a null.
  const char *symbol;
  KernelNeeds needs = {};
};

/// What the driver refused of a load: its code, to find the kernel there, so much shared memory, so
/// large a cluster.
enum class LoadStep : std::uint8_t { Load, Find, AllowShared, AllowCluster };

/// How far a load came.
struct LoadReport {
  LoadStep at = LoadStep::Load;
  std::string log; ///< What the driver's assembler said.
};

/// What drivers promise of every allocation (CUDA C++ Programming Guide 13, "Device Memory
/// Accesses"; HIP gives whole pages).
inline constexpr std::uint64_t kMemoryAlignment = 256;

/// cuda.h: CUDA_ERROR_OUT_OF_MEMORY; hipErrorOutOfMemory.
inline constexpr int kOutOfMemory = 2;
/// cuda.h: CUDA_ERROR_NOT_SUPPORTED; hipErrorNotSupported.
inline constexpr int kNotSupported = 801;

/// Whose memory an address is in.
struct MemoryOwner {
  bool isDevice = false;    ///< A GPU's own; else the host's, or unknown to the driver.
  bool isPinned = false;    ///< The host's, and the driver knows it.
  std::int32_t number = -1; ///< Of that GPU, the driver's.
};

/// A GPU behind its vendor's driver. A function that gives a number gives 0, or the driver's error.
/// Any number of threads may use it at once. What names no stream is done in the device's default
/// one, and has been done when a call returns, but for `start`.
///
/// A call is made in the context of its stream. Without one it is made in the calling thread's
/// current context if that is of this device, else in the device's primary one. HIP has no others.
class Gpu {
public:
  virtual ~Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Vendor &vendor() const { return *vendor_; }
  /// Among its driver's devices.
  std::int32_t number() const { return number_; }
  /// As the driver names it: "sm_90", "gfx942:sramecc+:xnack-".
  const std::string &kind() const { return kind_; }
  /// "cuda:0 (NVIDIA H100 PCIe, sm_90)"
  const std::string &description() const { return description_; }
  /// Whether its driver makes an image of assembly.
  bool takesAssembly() const { return vendor_->logOption != 0; }
  /// What an error says, in the driver's words.
  std::string textOf(int error) const { return describeError(driver(), error); }

  /// Code and symbol have to be there as long as the module: other contexts load it when a launch
  /// in them comes. Where it fails, nothing stays loaded, and the report says what was refused.
  int load(const KernelCode &kernel, Module &made, LoadReport &report) const;
  /// Load it in a stream's context now, if that is another one: launches that are captured can't.
  int loadFor(const Module &module, void *stream) const;
  /// What other contexts have loaded stays there as long as they do.
  void unload(const Module &module) const;

  /// The driver's function that launches with these attributes want and the driver, being too old,
  /// lacks; null where it lacks none. Such a launch is refused.
  virtual const char *lacksFor(const LaunchAttributes & /*attributes*/) const { return nullptr; }
  /// Launch a kernel, and wait for nothing: what goes wrong later is an error of `await`.
  int start(const Module &kernel, const Launch &launch) const;
  /// The same; it takes little where the context is current already.
  virtual int start(const LaunchWords &words, void *stream) const = 0;
  /// Run it so many times in the default stream; the milliseconds that one took, by the device's
  /// clock.
  int time(const Module &kernel, const Launch &launch, std::int32_t times,
           double &milliseconds) const;
  /// Whether its driver can tell the engine of views. Where it is too old, boxes are not loaded.
  virtual bool knowsBoxes() const { return false; }
  /// What a launch passes for the boxes of a view.
  int describeBoxes(const Boxes &boxes, BoxMapBytes &map) const;

  int makeStream(void *&stream) const;
  void destroyStream(void *stream) const;
  /// Wait for all that is in a stream; the error of what broke down there.
  int await(void *stream) const;
  /// Whether what is put into a stream is recorded, for a graph, and not done.
  bool isCapturing(void *stream) const;

  /// For this stream, and others of its context.
  int makeEvent(void *&event, void *stream) const;
  void destroyEvent(void *event) const;
  /// Now, as a place in a stream.
  int recordEvent(void *event, void *stream) const;
  int awaitEvent(void *event) const;
  /// What is put into the stream from now on comes behind the event.
  int letAwait(void *stream, void *event) const;
  int millisecondsBetween(void *first, void *last, double &milliseconds) const;

  /// In the order of a stream, from the driver's pool where it has one (`isPooled`); at once, in
  /// the default one.
  int allocateIn(void *stream, std::int64_t bytes, std::uint64_t &address, bool &isPooled) const;
  void releaseIn(void *stream, std::uint64_t address, bool isPooled) const;
  /// Memory of the default stream.
  void release(std::uint64_t address) const;
  /// Memory of the host that all GPUs of the driver copy from and to while they and the host do
  /// other work.
  int allocatePinned(std::int64_t bytes, void *&memory) const;
  int releasePinned(void *memory) const;
  /// A pair of pieces of its PinnedPool; null where there is none. It is of the primary context.
  std::byte *takePinned() const;
  void giveBackPinned(const std::byte *pair) const { pool_.giveBack(pair); }
  /// Put into a stream, where the host's memory is read or written when its turn comes.
  int startCopyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const;
  int startCopyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const;
  /// The same, and waited for.
  int copyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const;
  int copyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const;
  /// The host's memory may be used again, and what is launched next sees the device's.
  int copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const;
  int copyOut(void *to, std::uint64_t from, std::int64_t bytes) const;
  /// As `time`, of copying between two places in the device's memory.
  int timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes, std::int32_t times,
               double &milliseconds) const;
  /// Of memory allocated by whomever.
  MemoryOwner ownerOf(const void *address) const;

protected:
  Gpu(const OpenDriver &opened, std::string kind);
  /// The last thing that is done with it.
  void clearPool() const;

  /// Where a call is to be made.
  struct Place {
    void *stream = nullptr;
    bool isPrimary = false; ///< In the device's primary context, whatever else there is.
    bool isUnseen = false; ///< The driver does not see the stream, and so can't refuse its context.
  };
  /// What a call is made in.
  struct Entered {
    static constexpr int kStays = -1;
    void *context = nullptr; ///< Null: the device's primary one.
    int before = kStays;     ///< What `leave` makes current again, if another was.
  };
  /// Make a context of the device, or with HIP the device, the calling thread's current one; and
  /// again what was so before, where that is another.
  virtual int enter(const Place &place, Entered &entered) const = 0;
  virtual void leave(const Entered &entered) const = 0;
  /// `start`, in the device's primary context where that is current.
  int startHere(const LaunchWords &words, void *stream) const {
    const int error = hand(words.kernel_.function, words, stream);
    return error == 0 ? 0 : notStarted(error, words, stream);
  }
  /// The same, wherever it has to be made.
  int startElsewhere(const LaunchWords &words, void *stream) const;
  /// Whether a stream's context is another one than what was entered for it. `enter` asks for
  /// streams' contexts, which takes calls, from the first on that is not the primary.
  virtual bool isElsewhere(void * /*stream*/, const Entered & /*entered*/) const { return false; }
  /// What no other context has that ever was; 0: the driver is too old to tell.
  virtual std::uint64_t idOf(void * /*context*/) const { return 0; }
  /// Let launches of a kernel give it so many bytes of shared memory, while the device is current.
  virtual int allowShared(void *function, std::int32_t bytes) const = 0;
  /// The same of clusters of so many blocks.
  virtual int allowCluster(void * /*function*/, std::int32_t /*blocks*/) const { return 0; }
  /// Hand over a launch with attributes, while the device is current.
  virtual int launchAttributed(const AttributedLaunch &launch) const = 0;
  /// As `describeBoxes`, while the device is current.
  virtual int makeMap(const Boxes &boxes, BoxMapBytes &map) const;
  const Driver &driver() const { return driver_; }

private:
  friend class LaunchWords;

  /// What `action` gives, of what was entered, or the error why nothing can be.
  template <class Action>
  int entering(const Place &place, Action action) const;
  template <class Action>
  int within(void *stream, Action action) const;
  template <class Action>
  int timeOf(std::int32_t times, double &milliseconds, Action action) const;
  int enqueue(const LaunchWords &words, void *stream, const Entered &entered) const;
  int allocatePinnedIn(const Place &place, std::int64_t bytes, void *&memory) const;
  int notStarted(int error, const LaunchWords &words, void *stream) const;
  static int hand(void *function, const LaunchWords &words, void *stream) {
    return words.call_(function, words.grid_[0], words.grid_[1], words.grid_[2], words.threads_, 1,
                       1, words.sharedBytes_, stream, words.each_, words.extra_);
  }
  static int callAttributed(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                            unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                            void *stream, void **each, void **list);
  int loadModule(void *&module, const char *code, std::string &log) const;
  int allow(const KernelNeeds &needs, void *function, LoadStep &at) const;
  int loadHere(const KernelCode &kernel, Module &made, LoadReport &report) const;
  int findElsewhere(const Module &module, void *context, void *stream, void *&function) const;

  const Vendor *vendor_;
  Driver driver_;
  std::int32_t number_;
  std::string kind_;
  std::string description_;
  mutable PinnedPool pool_;
};

inline int LaunchWords::start(void *stream) const { return gpu_->start(*this, stream); }

/// A device of the first driver that is at one of the paths, best first. Null, and `problem` says
/// why, where there is none. What the device says of itself is asked now.
std::unique_ptr<Gpu> open(const Vendor &vendor, std::int32_t number,
                          std::span<const std::string> paths, Problem &problem);

} // namespace imbrex::driver
