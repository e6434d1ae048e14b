#include "tests/run/runtime/played_gpu.h"

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/lower/observations.h"
#include "backend/target/codegen/loc_lines.h"
#include "tests/run/runtime/image_arguments.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <map>

namespace imbrex::testing {
namespace {

using lower::WordKind;

/// The kernel's code under some assumptions, and the image or the assembly that it makes.
struct Made {
  ir::Kernel kernel; // outlives the code
  GpuCode code;
  std::string image;
};

/// Which text the code is made to.
struct Form {
  bool isImage = true;
  bool hasLines = true; ///< As a launch's; a library's has none.
};

std::unique_ptr<Made> make(const ir::Kernel &kernel, const machine::Machine &machine,
                           const analysis::Assumptions &assumptions, Form form) {
  const target::GpuTarget &target = target::gpuTarget(machine);
  Diagnostics diagnostics;
  auto made = std::make_unique<Made>(Made{.kernel = kernel.clone(), .code = {}, .image = {}});
  auto code = compileForGpu(made->kernel, target, assumptions, diagnostics);
  if (!code) return nullptr;
  made->code = std::move(*code);
  made->image = makeAssembly(made->code, target).value();
  if (!form.hasLines) made->image = target::withoutLines(made->image);
  if (form.isImage)
    if (const auto object = makeObject(made->image, target); object)
      made->image.assign(object->image.begin(), object->image.end());
  return made;
}

/// What a launch brought, taken apart.
struct Arguments {
  std::vector<ir::Argument> of; ///< The kernel's parameters.
  std::deque<ir::PointerTable> tables = {};
  std::uint64_t observations = 0;
};

/// What the driver must have been told of a view.
fake::SeenMap mapOf(const lower::BoxMap &boxes, const ir::Argument &view) {
  const std::map<std::int32_t, std::int32_t> elements{{1, 0}, {2, 1}, {4, 2}, {8, 4}};
  const std::map<std::int32_t, std::int32_t> swizzles{{0, 0}, {32, 1}, {64, 2}, {128, 3}};
  const std::size_t rank = boxes.box.size();
  fake::SeenMap map{.address = reinterpret_cast<std::uintptr_t>(view.data),
                    .element = elements.at(boxes.elementBytes),
                    .rank = static_cast<std::int32_t>(rank),
                    .swizzle = swizzles.at(boxes.span),
                    .fill = 0};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    map.extents[rank - 1 - axis] = static_cast<std::uint32_t>(view.extents[axis]);
    map.box[rank - 1 - axis] = static_cast<std::uint32_t>(boxes.box[axis]);
    if (axis + 1 < rank)
      map.strides[rank - 2 - axis] =
          static_cast<std::uint64_t>(view.strides[axis] * boxes.elementBytes);
  }
  return map;
}

/// Whether a map lies where the image has it, and says what the driver was told.
bool isMap(const fake::SeenMap &expected, const ArgumentPlace &place,
           llvm::ArrayRef<std::byte> bytes) {
  if (place.bytes != lower::BoxMap::kBytes || place.offset + place.bytes > bytes.size())
    return false;
  fake::SeenMap map;
  std::memcpy(&map, bytes.data() + place.offset, sizeof map);
  return map == expected;
}

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
  if (word.kind == WordKind::Pointer || word.kind == WordKind::Table)
    argument.data = reinterpret_cast<std::byte *>(bits);
  return true;
}

} // namespace

fake::State &freshDriver(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  IMBREX_CHECK(library != nullptr, "{0} is not there", path);
  auto *found = reinterpret_cast<fake::State *(*)()>(dlsym(library, "fakeState"));
  fake::State &state = *found();
  state.forget();
  return state;
}

std::string imageOf(const ir::Kernel &kernel, std::string_view machine) {
  const machine::Machine *found = machine::findMachine(machine);
  return make(kernel, *found, analysis::usualAssumptions(kernel), {})->image;
}

std::string assemblyOf(const ir::Kernel &kernel, std::string_view machine) {
  const machine::Machine *found = machine::findMachine(machine);
  return make(kernel, *found, analysis::usualAssumptions(kernel), {.isImage = false})->image;
}

int PlayedGpu::run(const fake::SeenLaunch &launch) {
  constexpr int kIllegalAddress = 700; // cuda.h: CUDA_ERROR_ILLEGAL_ADDRESS; the same in HIP
  problem_ = runOrSay(launch);
  return problem_.empty() ? 0 : kIllegalAddress;
}

std::int64_t PlayedGpu::bytesBehind(const std::byte *address) const {
  return static_cast<std::int64_t>(driver_.bytesBehind(reinterpret_cast<std::uintptr_t>(address)));
}

/// Whether a table lies in the device's memory, with a null pointer behind the others.
std::string PlayedGpu::wrongIn(const ir::Argument &table) const {
  const std::int64_t size = table.extents[0];
  if (bytesBehind(table.data) < (size + 1) * 8) return "a table is not in the device's memory";
  const auto *addresses = reinterpret_cast<const std::uint64_t *>(table.data);
  return addresses[size] == 0 ? "" : "no null pointer stands behind a table's others";
}

/// What the addresses of a table lead to, in the device's memory.
std::vector<ir::Argument> PlayedGpu::pointeesOf(const ir::Argument &table) const {
  const auto *addresses = reinterpret_cast<const std::uint64_t *>(table.data);
  std::vector<ir::Argument> pointees(static_cast<std::size_t>(table.extents[0]));
  for (std::size_t i = 0; i < pointees.size(); ++i) {
    pointees[i].data = reinterpret_cast<std::byte *>(addresses[i]);
    pointees[i].bytes = bytesBehind(pointees[i].data);
  }
  return pointees;
}

/// What the code for such arguments may assume.
analysis::Assumptions PlayedGpu::assumedFor(std::vector<ir::Argument> arguments) const {
  for (const std::size_t parameter : bare_) arguments[parameter].bytes = ir::Argument::kUnknownSize;
  analysis::Assumptions kept =
      analysis::assumptionsOf(kernel_, arguments, analysis::usualAssumptions(kernel_));
  if (!driver_.knowsBoxes || !machine_.asyncCopies.haveEngine)
    kept = analysis::withoutBoxes(std::move(kept));
  for (const analysis::Assumptions &before : madeBefore_)
    if (kept.cover(before)) return before;
  return kept;
}

std::string PlayedGpu::runOrSay(const fake::SeenLaunch &launch) {
  const Form form{.isImage = launch.image.starts_with("\177ELF"), .hasLines = madeBefore_.empty()};
  const auto usual = make(kernel_, machine_, analysis::usualAssumptions(kernel_), form);
  if (usual == nullptr) return "the kernel does not compile";
  // Maps of boxes, which other code may have none of, come last.
  std::vector<lower::Word> words = usual->code.interface.words;
  std::erase_if(words, [](const lower::Word &word) { return word.kind == WordKind::BoxMap; });
  const std::vector<ArgumentPlace> places = argumentsInImage(launch.image, launch.kernel);
  if (places.size() < words.size())
    return "the image has " + std::to_string(places.size()) + " arguments, not " +
           std::to_string(words.size());

  // As the kernel finds them: the driver puts each where the image has it.
  std::vector<std::byte> given = launch.arguments;
  for (std::size_t i = 0; launch.each != nullptr && i < places.size(); ++i) {
    given.resize(std::max<std::size_t>(given.size(), places[i].offset + places[i].bytes));
    std::memcpy(&given[places[i].offset], launch.each[i], places[i].bytes);
  }
  Arguments arguments{.of = std::vector<ir::Argument>(kernel_.parameterCount())};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!take(words[i], places[i], given, arguments))
      return "argument " + std::to_string(i) + " is not where the image has it";
  for (const lower::Word &word : words) {
    ir::Argument &argument = arguments.of[static_cast<std::size_t>(word.parameter)];
    if (word.kind == WordKind::Pointer) argument.bytes = bytesBehind(argument.data);
    if (word.kind != WordKind::Table) continue;
    if (std::string wrong = wrongIn(argument); !wrong.empty()) return wrong;
    argument = arguments.tables.emplace_back(pointeesOf(argument)).argument();
  }

  const analysis::Assumptions kept = assumedFor(arguments.of);
  const bool isUsual = kept.cover(analysis::usualAssumptions(kernel_));
  const auto own = isUsual ? nullptr : make(kernel_, machine_, kept, form);
  const Made &expected = own != nullptr ? *own : *usual;
  if (launch.image != expected.image) return "this is not the code for such arguments";
  const lower::KernelInterface &interface = expected.code.interface;
  if (places.size() != words.size() + interface.maps.size())
    return "the image has " + std::to_string(places.size()) + " arguments";
  for (std::size_t i = 0; i < interface.maps.size(); ++i) {
    const lower::BoxMap &boxes = interface.maps[i];
    const ir::Argument &view = arguments.of[static_cast<std::size_t>(boxes.parameter)];
    if (!isMap(mapOf(boxes, view), places[words.size() + i], given))
      return "map " + std::to_string(i) + " is not what the view is";
  }
  if (launch.threads != static_cast<unsigned>(expected.code.interface.threads))
    return "a block has " + std::to_string(launch.threads) + " threads";
  if (launch.sharedBytes != static_cast<unsigned>(expected.code.interface.bytesAtLaunch))
    return "a block is given " + std::to_string(launch.sharedBytes) + " bytes";

  Diagnostics diagnostics;
  const auto program = emulate::EmulatedProgram::compile(*expected.code.copy(), machine_,
                                                         expected.code.interface, diagnostics);
  emulate::EmulatorOptions options;
  options.observations = {reinterpret_cast<std::uint64_t *>(arguments.observations),
                          driver_.bytesBehind(arguments.observations) / sizeof(std::uint64_t)};
  ir::Grid grid;
  for (std::size_t axis = 0; axis < 3; ++axis)
    grid.extents[axis] = static_cast<std::int32_t>(launch.grid[axis]);
  if (program && program->run(grid, arguments.of, options, diagnostics)) return "";
  return diagnostics.render();
}

} // namespace imbrex::testing
