#include "tests/run/runtime/played_gpu.h"

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/lower/observations.h"
#include "tests/run/runtime/image_arguments.h"

#include <cstring>
#include <dlfcn.h>

namespace imbrex::testing {
namespace {

using lower::WordKind;

/// The kernel's code under some assumptions, and the image or the assembly that it makes.
struct Made {
  ir::Kernel kernel; // outlives the code
  GpuCode code;
  std::string image;
};

std::unique_ptr<Made> make(const ir::Kernel &kernel, const machine::Machine &machine,
                           const analysis::Assumptions &assumptions, bool asImage) {
  const target::GpuTarget &target = target::gpuTarget(machine);
  Diagnostics diagnostics;
  auto made = std::make_unique<Made>(Made{.kernel = kernel.clone(), .code = {}, .image = {}});
  auto code = compileForGpu(made->kernel, target, assumptions, diagnostics);
  if (!code) return nullptr;
  made->code = std::move(*code);
  if (asImage) {
    const auto object = target.object(*made->code.copy());
    if (object) made->image.assign(object->image.begin(), object->image.end());
  } else {
    made->image = target.assembly(*made->code.copy()).value();
  }
  return made;
}

/// What a launch brought, taken apart.
struct Arguments {
  std::vector<ir::Argument> of; ///< The kernel's parameters.
  std::uint64_t observations = 0;
};

/// Takes one word; false where its place is not in the bytes, or not of its size.
bool take(const lower::Word &word, const ArgumentPlace &place, llvm::ArrayRef<std::byte> bytes,
          Arguments &into) {
  if (place.bytes != static_cast<std::uint32_t>(word.bytes)) return false;
  if (place.offset + place.bytes > bytes.size()) return false;
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + place.offset, place.bytes);
  if (word.kind == WordKind::Observations) return into.observations = bits, true;
  ir::Argument &argument = into.of[static_cast<std::size_t>(word.parameter)];
  const auto axis = static_cast<std::size_t>(word.axis);
  if (word.kind == WordKind::Scalar) argument.scalar = bits;
  if (word.kind == WordKind::Extent) argument.extents[axis] = static_cast<std::int64_t>(bits);
  if (word.kind == WordKind::Stride) argument.strides[axis] = static_cast<std::int64_t>(bits);
  if (word.kind == WordKind::Pointer) argument.data = reinterpret_cast<std::byte *>(bits);
  return true;
}

} // namespace

fake::State &freshDriver(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  IMBREX_CHECK(library != nullptr, "{0} is not there", path);
  auto *found = reinterpret_cast<fake::State *(*)()>(dlsym(library, "fakeState"));
  fake::State &state = *found();
  // What is loaded stays: others may hold it.
  fake::State fresh;
  fresh.modules = std::move(state.modules);
  fresh.memory = std::move(state.memory);
  state = std::move(fresh);
  return state;
}

std::string imageOf(const ir::Kernel &kernel, std::string_view machine) {
  const machine::Machine *found = machine::findMachine(machine);
  return make(kernel, *found, analysis::usualAssumptions(kernel), true)->image;
}

std::string assemblyOf(const ir::Kernel &kernel, std::string_view machine) {
  const machine::Machine *found = machine::findMachine(machine);
  return make(kernel, *found, analysis::usualAssumptions(kernel), false)->image;
}

int PlayedGpu::run(const fake::SeenLaunch &launch) {
  constexpr int kIllegalAddress = 700; // cuda.h: CUDA_ERROR_ILLEGAL_ADDRESS; the same in HIP
  problem_ = runOrSay(launch);
  return problem_.empty() ? 0 : kIllegalAddress;
}

std::string PlayedGpu::runOrSay(const fake::SeenLaunch &launch) {
  const bool isImage = launch.image.starts_with("\177ELF");
  const auto usual = make(kernel_, machine_, analysis::usualAssumptions(kernel_), isImage);
  if (usual == nullptr) return "the kernel does not compile";
  const std::vector<lower::Word> &words = usual->code.interface.words;
  const std::vector<ArgumentPlace> places = argumentsInImage(launch.image, launch.kernel);
  if (places.size() != words.size())
    return "the image has " + std::to_string(places.size()) + " arguments, not " +
           std::to_string(words.size());

  Arguments arguments{.of = std::vector<ir::Argument>(kernel_.parameterCount())};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!take(words[i], places[i], launch.arguments, arguments))
      return "argument " + std::to_string(i) + " is not where the image has it";
  for (const lower::Word &word : words) {
    if (word.kind != WordKind::Pointer) continue;
    ir::Argument &argument = arguments.of[static_cast<std::size_t>(word.parameter)];
    argument.bytes = static_cast<std::int64_t>(
        driver_.bytesBehind(reinterpret_cast<std::uintptr_t>(argument.data)));
  }

  // What a launch keeps may be covered by code for what most keep.
  const analysis::Assumptions kept =
      analysis::assumptionsOf(kernel_, arguments.of, analysis::usualAssumptions(kernel_));
  const bool isUsual = kept.cover(analysis::usualAssumptions(kernel_));
  const auto own = isUsual ? nullptr : make(kernel_, machine_, kept, isImage);
  const Made &expected = own != nullptr ? *own : *usual;
  if (launch.image != expected.image) return "this is not the code for such arguments";
  if (launch.threads != static_cast<unsigned>(expected.code.interface.threads))
    return "a block has " + std::to_string(launch.threads) + " threads";
  if (launch.sharedBytes != static_cast<unsigned>(expected.code.interface.bytesAtLaunch))
    return "a block is given " + std::to_string(launch.sharedBytes) + " bytes";

  Diagnostics diagnostics;
  const auto program = emulate::Program::compile(*expected.code.module, machine_,
                                                 expected.code.interface, diagnostics);
  emulate::Options options;
  options.observations = {reinterpret_cast<std::uint64_t *>(arguments.observations),
                          driver_.bytesBehind(arguments.observations) / sizeof(std::uint64_t)};
  ir::Grid grid;
  for (std::size_t axis = 0; axis < 3; ++axis)
    grid.extents[axis] = static_cast<std::int32_t>(launch.grid[axis]);
  if (program && program->run(grid, arguments.of, options, diagnostics)) return "";
  return diagnostics.render();
}

} // namespace imbrex::testing
