#include "backend/emulate/model/counters.h"

#include "backend/support/text.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

namespace imbrex::emulate {
namespace {

double perRequest(std::uint64_t count, const AccessCounters &access) {
  return access.requests == 0 ? 0
                              : static_cast<double>(count) / static_cast<double>(access.requests);
}

void printAccess(llvm::raw_ostream &out, const AccessCounters &access) {
  out << llvm::left_justify(toText(access.where), 28) << ' '
      << llvm::left_justify((access.isShared ? "shared " : "global ") + access.what, 24)
      << llvm::format("%4u B %9llu", access.bytesPerLane,
                      static_cast<unsigned long long>(access.requests));
  if (access.isShared)
    out << llvm::format("  %6.2f cycles each, least %.2f\n", perRequest(access.cycles, access),
                        perRequest(access.leastCycles, access));
  else
    out << llvm::format("  %6.2f sectors each, least %.2f, %.2f lines\n",
                        perRequest(access.sectors, access), perRequest(access.leastSectors, access),
                        perRequest(access.lines, access));
}

/// What an unrolled loop or the parts of a tile make of one line, in one row.
std::vector<AccessCounters> byLine(const std::vector<AccessCounters> &accesses) {
  const auto key = [](const AccessCounters &access) {
    return std::tuple(access.where.file, access.where.line, std::string_view(access.what),
                      access.isShared, access.bytesPerLane);
  };
  std::map<decltype(key(accesses.front())), std::size_t> rows;
  std::vector<AccessCounters> lines;
  for (const AccessCounters &access : accesses) {
    const auto [row, isNew] = rows.try_emplace(key(access), lines.size());
    if (isNew)
      lines.push_back(access);
    else
      lines[row->second].add(access);
  }
  return lines;
}

llvm::json::Object toJson(const AccessCounters &access) {
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  llvm::json::Object object{{"where", toText(access.where)},
                            {"what", access.what},
                            {"space", access.isShared ? "shared" : "global"},
                            {"bytes_per_lane", access.bytesPerLane},
                            {"requests", number(access.requests)},
                            {"lanes", number(access.lanes)}};
  if (access.isShared) {
    object["cycles"] = number(access.cycles);
    object["least_cycles"] = number(access.leastCycles);
  } else {
    object["sectors"] = number(access.sectors);
    object["least_sectors"] = number(access.leastSectors);
    object["lines"] = number(access.lines);
  }
  return object;
}

} // namespace

void AccessCounters::add(const AccessCounters &other) {
  for (const auto field :
       {&AccessCounters::requests, &AccessCounters::lanes, &AccessCounters::sectors,
        &AccessCounters::lines, &AccessCounters::leastSectors, &AccessCounters::cycles,
        &AccessCounters::leastCycles})
    this->*field += other.*field;
}

std::uint64_t Counters::bankConflicts() const {
  std::uint64_t conflicts = 0;
  for (const AccessCounters &access : accesses) conflicts += access.cycles - access.leastCycles;
  return conflicts;
}

std::string toText(const Counters &counters) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << counters.blocks << " blocks of " << counters.threads << " threads\n"
      << "instructions (LLVM IR) of a thread, on average\n";
  const auto threads =
      static_cast<double>(std::max<std::uint64_t>(1, counters.blocks * counters.threads));
  for (std::size_t i = 0; i < counters.instructions.size(); ++i)
    if (counters.instructions[i] != 0)
      out << llvm::format("%12.2f ", static_cast<double>(counters.instructions[i]) / threads)
          << kInstructionNames[i] << '\n';
  out << "requests of warps\n";
  for (const AccessCounters &access : byLine(counters.accesses)) printAccess(out, access);
  out << "bank conflicts: " << counters.bankConflicts() << " cycles\n";
  return text;
}

std::string toJson(const Counters &counters) {
  llvm::json::Object instructions;
  for (std::size_t i = 0; i < counters.instructions.size(); ++i)
    instructions[llvm::StringRef(kInstructionNames[i])] =
        static_cast<std::int64_t>(counters.instructions[i]);
  llvm::json::Array accesses;
  for (const AccessCounters &access : byLine(counters.accesses)) accesses.push_back(toJson(access));
  llvm::json::Object all{{"blocks", static_cast<std::int64_t>(counters.blocks)},
                         {"threads", static_cast<std::int64_t>(counters.threads)},
                         {"instructions", std::move(instructions)},
                         {"accesses", std::move(accesses)},
                         {"bank_conflicts", static_cast<std::int64_t>(counters.bankConflicts())}};
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << '\n';
  return text;
}

} // namespace imbrex::emulate
