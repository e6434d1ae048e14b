#include "tests/unit/emulate/waves_text.h"

#include "backend/schedule/program/channels.h"

#include <map>
#include <numeric>
#include <utility>

namespace imbrex {
namespace {

using namespace schedule;

constexpr std::int32_t kLanes = 64;

std::string text(std::int64_t number) { return std::to_string(number); }

/// s_waitcnt's field of gfx9: six bits of vmcnt around the other counters', for which none waits.
std::string waitFor(std::int32_t count) {
  const std::int32_t others = 0xf70;
  return text((count & 15) | others | (count >> 4 << 14));
}

/// What is read, for the sum that is expected.
struct Read {
  BufferId buffer;
  std::int64_t use;
};

class Writer {
public:
  Writer(const Program &program, std::int32_t trips) : program_(program), trips_(trips) {
    entries_.assign(program.buffers.size(), 1);
    for (const Role &role : program.roles)
      forEachOp(role.body, [&](const ScheduleOp &op) {
        if (op.kind == ScheduleOpKind::Issue && program[op.queue].name == "loads")
          entries_[op.accesses.front().buffer.index()] = op.count;
      });
    for (std::uint32_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer &buffer = program.buffers[b];
      firstWords_.push_back(sharedWords_);
      if (buffer.space == Space::Shared)
        sharedWords_ += wordsOf(BufferId(b)) * program.depthOf(buffer.ring);
    }
    for (const Role &role : program.roles) warps_ += role.warps;
  }

  WavesText operator()() {
    WavesText made;
    made.threads = warps_ * kLanes;
    made.in.resize(static_cast<std::size_t>(firstIn(program_.buffers.size())));
    std::iota(made.in.begin(), made.in.end(), 1);
    made.text = head();
    for (const Role &role : program_.roles) {
      const bool isLast = &role == &program_.roles.back();
      const std::string label = text(&role - program_.roles.data());
      if (!isLast) {
        made.text += "  %is" + label + " = icmp ult i32 %wave, " + text(firstWave_ + role.warps) +
                     "\n  br i1 %is" + label + ", label %role" + label + ", label %not" + label +
                     "\nrole" + label + ":\n";
      }
      made.text += bodyOf(role);
      if (!isLast) made.text += "not" + label + ":\n";
      addExpected(role, made);
      firstWave_ += role.warps;
    }
    made.text += "}\n";
    return made;
  }

private:
  std::int32_t entriesOf(BufferId buffer) const { return entries_[buffer.index()]; }
  std::int64_t wordsOf(BufferId buffer) const {
    return static_cast<std::int64_t>(program_[buffer].parts) * entriesOf(buffer) * kLanes;
  }

  /// The first word of `in` for a buffer.
  std::int64_t firstIn(std::size_t buffer) const {
    std::int64_t words = 0;
    for (std::size_t b = 0; b < buffer; ++b)
      words += wordsOf(BufferId(static_cast<std::uint32_t>(b))) * (trips_ + 1);
    return words;
  }

  std::string head() const {
    return "target triple = \"amdgcn-amd-amdhsa\"\n"
           "@sh = internal addrspace(3) global [" +
           text(sharedWords_) +
           " x i32] poison, align 16\n"
           "define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) "
           "\"amdgpu-flat-work-group-size\"=\"" +
           text(warps_ * kLanes) + "," + text(warps_ * kLanes) +
           "\" {\n"
           "  %t = call i32 @llvm.amdgcn.workitem.id.x()\n"
           "  %lane = and i32 %t, 63\n"
           "  %mirrored = sub i32 63, %lane\n"
           "  %wave = lshr i32 %t, 6\n"
           "  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t\n";
  }

  std::string bodyOf(const Role &role) {
    body_.clear();
    cursors_.clear();
    reads_.clear();
    wave_ = name("sub i32 %wave, " + text(firstWave_));
    sum_ = "0";
    run(role.body);
    body_ += "  store i32 " + sum_ + ", ptr addrspace(1) %o, align 4\n  ret void\n";
    return std::move(body_);
  }

  /// An instruction, and its name.
  std::string name(const std::string &instruction) {
    const std::string fresh = "%v" + text(names_++);
    body_ += "  " + fresh + " = " + instruction + "\n";
    return fresh;
  }
  void call(const std::string &what) { body_ += "  call void @llvm.amdgcn." + what + "\n"; }

  void run(const std::vector<ScheduleOp> &ops) {
    for (const ScheduleOp &op : ops) run(op);
  }

  void run(const ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::For)
      for (done_ = op.first; done_ < trips_ - op.less; ++done_) run(op.body);
    if (op.kind == ScheduleOpKind::If && holds(op.guard)) run(op.body);
    if (op.kind == ScheduleOpKind::Advance) ++cursors_[op.cursor];
    if (op.kind == ScheduleOpKind::Meet) meet();
    if (op.kind == ScheduleOpKind::Drain && program_[op.queue].name == "loads")
      call("s.waitcnt(i32 " + waitFor(op.count) + ")");
    if (op.kind == ScheduleOpKind::Issue) issue(op);
  }

  void meet() {
    body_ += "  fence syncscope(\"workgroup\") release\n";
    call("s.barrier()");
    body_ += "  fence syncscope(\"workgroup\") acquire\n";
  }

  bool holds(const Guard &guard) const {
    const std::int32_t measured = guard.measure == Guard::Measure::Count  ? trips_
                                  : guard.measure == Guard::Measure::Left ? trips_ - done_
                                                                          : done_;
    return measured > guard.than;
  }

  std::int64_t useOf(const Access &access) {
    return access.index.cursor.valid() ? cursors_[access.index.cursor] + access.index.offset : 0;
  }

  bool isShared(const Access &access) const {
    return program_[access.buffer].space == Space::Shared;
  }

  void issue(const ScheduleOp &op) {
    const bool isLoad = program_[op.queue].name == "loads";
    const Access *from = nullptr, *into = nullptr;
    for (const Access &access : op.accesses) (access.writes ? into : from) = &access;
    if (isLoad && isShared(*into))
      loadShared(*into);
    else if (into && isShared(*into))
      store(*from, *into);
    else if (!isLoad)
      for (const Access &access : op.accesses)
        if (!access.writes) read(access);
  }

  /// In words from a slot's first.
  std::string partOf(BufferId buffer) {
    return name("mul i32 " + wave_ + ", " + text(entriesOf(buffer) * kLanes));
  }

  /// A word of this wave's part of a slot, for the first lane.
  std::string sharedWord(const Access &access, std::int32_t entry) {
    const std::string slot = name("getelementptr i32, ptr addrspace(3) @sh, i32 " +
                                  text(firstWord(access) + entry * kLanes));
    return name("getelementptr i32, ptr addrspace(3) " + slot + ", i32 " + partOf(access.buffer));
  }
  std::int64_t firstWord(const Access &access) {
    return firstWords_[access.buffer.index()] +
           useOf(access) % program_.depthOf(program_[access.buffer].ring) * wordsOf(access.buffer);
  }

  std::string source(BufferId buffer, std::int64_t use, std::int32_t entry) {
    const std::int64_t first = firstIn(buffer.index()) + use * wordsOf(buffer) + entry * kLanes;
    const std::string at = name("getelementptr i32, ptr addrspace(1) %in, i64 " + text(first));
    const std::string part =
        name("getelementptr i32, ptr addrspace(1) " + at + ", i32 " + partOf(buffer));
    return name("getelementptr i32, ptr addrspace(1) " + part + ", i32 %lane");
  }

  void loadShared(const Access &into) {
    for (std::int32_t entry = 0; entry < entriesOf(into.buffer); ++entry) {
      const std::string from = source(into.buffer, useOf(into), entry);
      call("global.load.lds(ptr addrspace(1) " + from + ", ptr addrspace(3) " +
           sharedWord(into, entry) + ", i32 4, i32 0, i32 0)");
    }
  }

  void store(const Access &from, const Access &into) {
    for (std::int32_t entry = 0; entry < entriesOf(into.buffer); ++entry) {
      const std::string word = name("load i32, ptr addrspace(1) " +
                                    source(into.buffer, useOf(from), entry) + ", align 4");
      const std::string at =
          name("getelementptr i32, ptr addrspace(3) " + sharedWord(into, entry) + ", i32 %lane");
      body_ += "  store i32 " + word + ", ptr addrspace(3) " + at + ", align 4\n";
    }
  }

  void read(const Access &access) {
    reads_.push_back({access.buffer, useOf(access)});
    for (std::int64_t row = 0; row < wordsOf(access.buffer) / kLanes; ++row) {
      const std::string slot = name("getelementptr i32, ptr addrspace(3) @sh, i32 " +
                                    text(firstWord(access) + row * kLanes));
      const std::string at =
          name("getelementptr i32, ptr addrspace(3) " + slot + ", i32 %mirrored");
      const std::string word = name("load i32, ptr addrspace(3) " + at + ", align 4");
      sum_ = name("add i32 " + name("mul i32 " + sum_ + ", 3") + ", " + word);
    }
  }

  void addExpected(const Role &role, WavesText &made) const {
    for (std::int32_t thread = 0; thread < role.warps * kLanes; ++thread) {
      std::uint32_t sum = 0;
      for (const Read &read : reads_) {
        const std::int64_t words = wordsOf(read.buffer);
        const std::int64_t first = firstIn(read.buffer.index()) + read.use * words;
        for (std::int64_t row = 0; row < words / kLanes; ++row) {
          const std::int64_t word = first + row * kLanes + kLanes - 1 - thread % kLanes;
          sum = 3 * sum + static_cast<std::uint32_t>(made.in[static_cast<std::size_t>(word)]);
        }
      }
      made.expected.push_back(static_cast<std::int32_t>(sum));
    }
  }

  const Program &program_;
  std::int32_t trips_;
  std::vector<std::int32_t> entries_;    // of a wave's load, by buffer
  std::vector<std::int64_t> firstWords_; // of shared memory, by buffer
  std::int64_t sharedWords_ = 0;
  std::int32_t warps_ = 0, firstWave_ = 0, names_ = 0;
  // Of the role that is written:
  std::string body_, wave_, sum_;
  std::map<CursorId, std::int64_t> cursors_;
  std::map<BufferId, std::vector<std::int64_t>>
      registers_; // the uses that are loaded, oldest first
  std::vector<Read> reads_;
  std::int32_t done_ = 0;
};

} // namespace

WavesText wavesText(const Program &program, std::int32_t trips) { return Writer(program, trips)(); }

} // namespace imbrex
