#include "backend/package/archive/tables.h"

#include "backend/launching/observations.h"
#include "backend/package/archive/host_compiler.h"
#include "backend/package/archive/launch_function.h"
#include "backend/package/archive/launch_program.h"
#include "backend/package/choice/tables.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"

namespace imbrex::archive {
namespace {

using llvm::Constant;

/// Constants of a module, in the layout that C gives them.
class ConstantMaker {
public:
  explicit ConstantMaker(llvm::Module &module) : module_(module) {}

  template <class T>
  Constant *number(T value) {
    return llvm::ConstantInt::get(llvm::Type::getIntNTy(context(), 8 * sizeof(T)),
                                  static_cast<std::uint64_t>(value));
  }
  Constant *null() {
    return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context()));
  }

  /// Where bytes are; equal ones once.
  Constant *bytes(llvm::StringRef content, std::uint64_t alignment) {
    Constant *&known = known_[content];
    if (known == nullptr)
      known = global(llvm::ConstantDataArray::getString(context(), content, /*AddNull=*/true),
                     alignment);
    return known;
  }
  Constant *text(llvm::StringRef content) { return bytes(content, 1); }

  static Constant *structure(llvm::ArrayRef<Constant *> members) {
    return llvm::ConstantStruct::getAnon(members);
  }
  /// Where structures of one type are, one behind the other; null where there are none.
  Constant *array(llvm::ArrayRef<Constant *> elements) {
    if (elements.empty()) return null();
    return global(inPlace(elements), 8);
  }
  static Constant *inPlace(llvm::ArrayRef<Constant *> elements) {
    return llvm::ConstantArray::get(
        llvm::ArrayType::get(elements.front()->getType(), elements.size()), elements);
  }
  Constant *zeros(std::uint64_t size) {
    auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context()), size);
    auto *made = new llvm::GlobalVariable(module_, type, /*isConstant=*/false,
                                          llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantAggregateZero::get(type), "loaded");
    made->setAlignment(llvm::Align(8));
    return made;
  }
  llvm::GlobalVariable *global(Constant *content, std::uint64_t alignment) {
    auto *made = new llvm::GlobalVariable(module_, content->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, content, "table");
    made->setAlignment(llvm::Align(alignment));
    return made;
  }

private:
  llvm::LLVMContext &context() { return module_.getContext(); }

  llvm::Module &module_;
  llvm::StringMap<Constant *> known_;
};

/// The tables of one kernel (backend/package/choice/tables.h), member by member.
class TableMaker {
public:
  TableMaker(llvm::Module &module, ConstantMaker &make, const Library &library,
             const LibraryKernel &of)
      : module_(module), library_(library), of_(of), make_(make) {}

  llvm::GlobalVariable *kernel() {
    llvm::SmallVector<Constant *, 16> parameters, codes, requirements;
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i)
      parameters.push_back(parameter(i));
    for (const LibraryCode &one : of_.codes) codes.push_back(code(one));
    const std::vector<RequiredPart> required = requiredBy(of_.kernel);
    for (const RequiredPart &part : required) requirements.push_back(requirement(part));
    const llvm::SmallVector<Constant *, 16> rows = tuned();
    Constant *const row = ConstantMaker::structure(
        {make_.text(library_.name), make_.text(of_.name),
         of_.config.empty() ? make_.null() : make_.text(of_.config), make_.array(rows),
         make_.array(parameters), make_.array(codes), make_.zeros(sizeof(aot::Loaded)),
         make_.array(requirements), entry(of_.checkCode), make_.number(of_.checkCode.scratchBytes),
         entry(of_.blocksCode), make_.number(of_.blocksCode.scratchBytes), count(parameters.size()),
         count(codes.size()), count(rows.size()), byte(of_.isObserving())});
    return make_.global(of_.isObserving() ? ConstantMaker::structure({row, sites()}) : row,
                        alignof(aot::KernelRow));
  }

private:
  Constant *count(std::size_t number) { return make_.number(static_cast<std::int32_t>(number)); }
  template <class T>
  Constant *byte(T number) {
    return make_.number(static_cast<std::uint8_t>(number));
  }

  /// A row for each of its targets.
  llvm::SmallVector<Constant *, 16> tuned() {
    std::vector<Constant *> configs;
    for (const LibraryKernel &config : of_.configs) // of those that no row names there is no code
      configs.push_back(
          config.targets.empty() ? nullptr : TableMaker(module_, make_, library_, config).kernel());
    llvm::SmallVector<Constant *, 16> rows;
    for (const TuningRule &row : of_.tuned) {
      llvm::SmallVector<Constant *, 4> ranges;
      for (const TunedRange &range : row.ranges)
        ranges.push_back(ConstantMaker::structure(
            {given(range.of), make_.number(range.least), make_.number(range.most)}));
      Constant *const inRanges = make_.array(ranges);
      for (const LibraryTarget &target : row.targets)
        rows.push_back(ConstantMaker::structure({make_.text(target.name), inRanges,
                                                 configs[row.config], count(ranges.size()),
                                                 byte(deviceOf(target)), byte(target.isAssembly)}));
    }
    return rows;
  }

  /// Others are not printed: nobody requires anything of their bits.
  static std::optional<aot::Given::Kind> kindOf(ir::ElementKind element) {
    if (element == ir::ElementKind::F32) return aot::Given::F32;
    if (element == ir::ElementKind::F64) return aot::Given::F64;
    if (ir::isSigned(element)) return aot::Given::Signed;
    if (ir::isInteger(element)) return aot::Given::Unsigned;
    return std::nullopt;
  }

  Constant *given(const GivenWord &of) {
    const auto kind = kindOf(of.element).value_or(aot::Given::Unsigned);
    return ConstantMaker::structure(
        {make_.text(of.name), make_.number(of.word), make_.number(static_cast<std::int16_t>(kind)),
         make_.number(static_cast<std::int16_t>(ir::storageBits(of.element)))});
  }

  Constant *requirement(const RequiredPart &part) {
    llvm::SmallVector<Constant *, 4> each;
    for (const GivenWord &one : part.given)
      if (kindOf(one.element)) each.push_back(given(one));
    return ConstantMaker::structure({make_.text(part.written), make_.text(part.text),
                                     make_.array(each),
                                     make_.number(static_cast<std::int64_t>(each.size()))});
  }

  static aot::Form formOf(const ir::Type &type) {
    if (type.isView()) return aot::Form::View;
    if (type.isTable()) return aot::Form::Table;
    if (type.isPointerTile()) return aot::Form::Pointer;
    return type.element() == ir::ElementKind::Bool ? aot::Form::Truth : aot::Form::Scalar;
  }

  Constant *parameter(std::size_t i) {
    const ir::Type &type = of_.kernel.parameterType(i);
    return ConstantMaker::structure(
        {make_.text(of_.kernel.parameterName(i)), make_.text(ir::toString(type)),
         byte(formOf(type)), byte(type.isView() ? type.rank() : 0), byte(type.isConst()),
         byte(type.isTile() && ir::isInteger(type.element())),
         make_.number(static_cast<std::int16_t>(ir::storageBits(type.element()))),
         byte(ir::info(type.element()).dlpackCode), byte(isTuned(of_.kernel.parameterName(i)))});
  }

  /// A range of the table may be about it, or what a configuration requires.
  bool isTuned(const std::string &scalar) const {
    return llvm::any_of(of_.tuned, [&](const TuningRule &row) {
      return !of_.configs[row.config].checkCode.entry.empty() ||
             llvm::any_of(row.ranges,
                          [&](const TunedRange &range) { return range.of.name == scalar; });
    });
  }

  static aot::WordKind kindOf(const lower::Word &word) {
    switch (word.kind) {
    case lower::WordKind::Scalar: return aot::WordKind::Scalar;
    case lower::WordKind::Pointer:
    case lower::WordKind::Table: return aot::WordKind::Pointer;
    case lower::WordKind::Extent: return aot::WordKind::Extent;
    case lower::WordKind::Stride: return aot::WordKind::Stride;
    case lower::WordKind::BoxMap: return aot::WordKind::BoxMap;
    case lower::WordKind::Observations: return aot::WordKind::Observations;
    }
    IMBREX_UNREACHABLE("word");
  }

  Constant *words(const CodeOnGpu &code) {
    llvm::SmallVector<Constant *, 32> words;
    const std::vector<std::int64_t> places = lower::placesOf(code.words);
    for (const auto &[word, place] : llvm::zip_first(code.words, places))
      words.push_back(ConstantMaker::structure({byte(kindOf(word)), byte(word.parameter),
                                                byte(word.axis), byte(word.bytes),
                                                make_.number(static_cast<std::uint32_t>(place))}));
    return make_.array(words);
  }

  Constant *maps(const CodeOnGpu &code) {
    llvm::SmallVector<Constant *, 4> maps;
    for (const lower::BoxMap &map : code.maps) {
      llvm::SmallVector<Constant *, aot::kMostAxes> box;
      for (const std::int64_t extent : map.box) box.push_back(make_.number(extent));
      box.resize(aot::kMostAxes, make_.number(std::int64_t{0}));
      maps.push_back(ConstantMaker::structure(
          {make_.number(map.parameter), make_.number(map.elementBytes), make_.number(map.span),
           count(map.box.size()), ConstantMaker::inPlace(box)}));
    }
    return make_.array(maps);
  }

  Constant *assumed(const analysis::Assumptions &assumptions) {
    llvm::SmallVector<Constant *, 16> each;
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i) {
      const analysis::ParameterAssumptions one = assumptions.of(i);
      each.push_back(ConstantMaker::structure({byte(one.isDivisible), byte(one.hasUnitStride),
                                               byte(one.hasDivisibleRows),
                                               byte(one.hasSmallExtents), byte(one.hasSmallSpan),
                                               byte(one.hasBoxes), byte(one.sharedRowBytes)}));
    }
    return make_.array(each);
  }

  Constant *equals(const analysis::Assumptions &assumptions) {
    llvm::SmallVector<Constant *, 16> each;
    for (const analysis::EqualExtents &pair : assumptions.equalExtents)
      each.push_back(ConstantMaker::structure({byte(pair.extent.parameter), byte(pair.extent.axis),
                                               byte(pair.first.parameter), byte(pair.first.axis)}));
    return make_.array(each);
  }

  static std::uint8_t deviceOf(const LibraryTarget &target) {
    switch (target.machine->family) {
    case machine::Family::Cpu: return aot::kHost;
    case machine::Family::Nvptx: return aot::kCuda;
    case machine::Family::Amdgpu: return aot::kHip;
    }
    IMBREX_UNREACHABLE("family");
  }

  /// Drivers read the headers of an image in place.
  Constant *image(const CodeOnGpu &code) {
    constexpr std::uint64_t kAlignment = 64;
    return code.image.empty() ? make_.null() : make_.bytes(code.image, kAlignment);
  }

  Constant *entry(const CodeOnHost &code) {
    if (code.entry.empty()) return make_.null();
    llvm::Type *anything = llvm::Type::getVoidTy(module_.getContext());
    auto *function = llvm::cast<llvm::Function>(
        module_.getOrInsertFunction(code.entry, llvm::FunctionType::get(anything, false))
            .getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility); // to users of a shared library
    return function;
  }

  Constant *code(const LibraryCode &of) {
    const std::vector<std::int64_t> places = lower::placesOf(of.gpu.words);
    const ir::KernelAttrs &asked = of_.kernel.attributes();
    const auto inCluster = [&](std::size_t axis) {
      return byte(asked.cluster.empty() ? 1 : asked.cluster[axis]);
    };
    return ConstantMaker::structure({make_.text(of.target.name),
                                     image(of.gpu),
                                     make_.text(of.gpu.symbol),
                                     words(of.gpu),
                                     maps(of.gpu),
                                     entry(of.host),
                                     make_.number(of.host.scratchBytes),
                                     assumed(of.assumptions),
                                     equals(of.assumptions),
                                     count(of.gpu.words.size()),
                                     count(of.gpu.maps.size()),
                                     count(of.assumptions.equalExtents.size()),
                                     make_.number(of.gpu.threads),
                                     make_.number(of.gpu.bytesAtLaunch),
                                     make_.number(static_cast<std::int32_t>(places.back())),
                                     byte(deviceOf(of.target)),
                                     byte(of.target.isAssembly),
                                     byte(of.assumptions.areDisjoint),
                                     byte(asked.cooperative),
                                     byte(asked.programmatic),
                                     inCluster(0),
                                     inCluster(1),
                                     inCluster(2)});
  }

  Constant *observedTile(const launching::ObservedTile &of) {
    const launching::NumberForm &number = of.number;
    llvm::SmallVector<Constant *, launching::kMostPrintedAxes> extents;
    for (const std::int64_t extent : of.extents) extents.push_back(make_.number(extent));
    return ConstantMaker::structure(
        {ConstantMaker::structure({byte(number.family), byte(number.bits),
                                   byte(number.exponentBits), byte(number.mantissaBits),
                                   make_.number(number.bias), byte(number.specials)}),
         make_.number(of.rank), make_.number(of.elementBytes), ConstantMaker::inPlace(extents)});
  }

  Constant *site(const CodeSite &of) {
    llvm::SmallVector<Constant *, 4> tiles;
    for (const launching::ObservedTile &tile : of.tiles) tiles.push_back(observedTile(tile));
    return ConstantMaker::structure({make_.text(of.text), make_.text(of.place), make_.array(tiles),
                                     make_.number(static_cast<std::int64_t>(tiles.size()))});
  }

  /// What each of the codes prints and asserts.
  Constant *sites() {
    constexpr auto kRoom = static_cast<std::int32_t>(launching::observations::kUsualRoom);
    llvm::SmallVector<Constant *, 16> rows;
    for (const LibraryCode &code : of_.codes) {
      llvm::SmallVector<Constant *, 4> each;
      for (const CodeSite &one : code.sites()) each.push_back(site(one));
      rows.push_back(
          ConstantMaker::structure({make_.array(each), count(each.size()), make_.number(kRoom)}));
    }
    return make_.array(rows);
  }

  llvm::Module &module_;
  const Library &library_;
  const LibraryKernel &of_;
  ConstantMaker &make_;
};

/// Where the loader finds a kernel.
std::string tableSymbol(const Library &library, const LibraryKernel &kernel) {
  return library.codeSymbolOf(kernel) + ".table";
}

/// `int app_load(const imbrex_stream *)`
void emitLoader(llvm::Module &module, const Library &library) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  ConstantMaker make(module);
  llvm::SmallVector<Constant *, 16> kernels;
  for (const LibraryKernel &kernel : library.kernels) {
    auto *table = new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context),
                                           /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                           nullptr, tableSymbol(library, kernel));
    table->setVisibility(llvm::GlobalValue::HiddenVisibility);
    kernels.push_back(table);
  }
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(i32, {pointer}, false),
                             llvm::Function::ExternalLinkage, library.loaderSymbol(), module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  const llvm::FunctionCallee load = module.getOrInsertFunction(
      aot::kLoadSymbol, llvm::FunctionType::get(i32, {pointer, i64, pointer}, false));
  builder.CreateRet(builder.CreateCall(
      load, {make.array(kernels), builder.getInt64(kernels.size()), function->getArg(0)}));
}

/// A module that is made, as an object file that can be linked anywhere.
template <class Make>
Result<std::unique_ptr<llvm::MemoryBuffer>> objectOf(const Library &library,
                                                     const std::string &name, Make make) {
  auto compiler = compilerFor(library.triple, oldestCpu(library.triple));
  if (!compiler) return compiler.failure();
  llvm::LLVMContext context;
  llvm::Module module(name, context);
  (*compiler)->prepare(module);
  module.setPICLevel(llvm::PICLevel::BigPIC);
  make(module);
  return (*compiler)->compile(module, llvm::CodeGenOptLevel::Default);
}

} // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> makeTables(const Library &library,
                                                       const LibraryKernel &kernel) {
  const std::string symbol = library.symbolOf(kernel);
  return objectOf(library, symbol, [&](llvm::Module &module) {
    ConstantMaker make(module);
    llvm::GlobalVariable *table = TableMaker(module, make, library, kernel).kernel();
    table->setName(tableSymbol(library, kernel));
    table->setLinkage(llvm::GlobalValue::ExternalLinkage);
    table->setVisibility(llvm::GlobalValue::HiddenVisibility);
    emitLaunchFunctions(module, symbol, kernel, table);
  });
}

Result<std::unique_ptr<llvm::MemoryBuffer>> makeLoader(const Library &library) {
  return objectOf(library, library.loaderSymbol(),
                  [&](llvm::Module &module) { emitLoader(module, library); });
}

} // namespace imbrex::archive
