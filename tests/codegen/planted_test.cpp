#include "backend/emulate/emulate.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/table_launch.h"

#include <functional>

/// Mistakes, planted into the code that the compiler has made of real kernels.
namespace imbrex::testing {
namespace {

using llvm::Instruction;

/// What becomes of one instruction.
struct Fault {
  const char *what;
  std::function<bool(const Instruction &)> isPlace;
  std::function<void(Instruction &)> plant;
};

bool isCallOf(const Instruction &instruction, std::initializer_list<llvm::StringRef> names) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && llvm::any_of(names, [&](llvm::StringRef name) {
           return call->getCalledFunction()->getName().starts_with(name);
         });
}

void erase(Instruction &instruction) { instruction.eraseFromParent(); }

// --- wrong lanes ---

bool isShuffle(const Instruction &instruction) {
  return isCallOf(instruction,
                  {"llvm.nvvm.shfl.sync", "llvm.amdgcn.ds.bpermute", "llvm.amdgcn.ds.swizzle",
                   "llvm.amdgcn.update.dpp", "llvm.amdgcn.permlane"});
}

/// Each lane takes its own value, which is the second operand of most.
void takeOwn(Instruction &instruction) {
  const bool isFirst = isCallOf(instruction, {"llvm.amdgcn.ds.swizzle", "llvm.amdgcn.permlane32"});
  instruction.replaceAllUsesWith(instruction.getOperand(isFirst ? 0 : 1));
  instruction.eraseFromParent();
}

// --- addresses that are off by one ---

llvm::Value *pointerOf(const Instruction &instruction) {
  return const_cast<llvm::Value *>(llvm::getLoadStorePointerOperand(&instruction));
}

bool isInShared(const Instruction &instruction) {
  constexpr unsigned kShared = 3; // of both vendors
  const llvm::Value *pointer = pointerOf(instruction);
  return pointer && pointer->getType()->getPointerAddressSpace() == kShared;
}

void moveByOne(Instruction &instruction) {
  llvm::Value *pointer = pointerOf(instruction);
  llvm::IRBuilder<> b(&instruction);
  llvm::Value *moved =
      b.CreateConstGEP1_32(llvm::getLoadStoreType(&instruction)->getScalarType(), pointer, 1);
  instruction.replaceUsesOfWith(pointer, moved);
}

// --- masks ---

/// A branch around a store to global memory.
bool isMask(const Instruction &instruction) {
  const auto *branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
  if (!branch || !branch->isConditional()) return false;
  constexpr unsigned kGlobal = 1; // of both vendors
  return llvm::any_of(*branch->getSuccessor(0), [](const Instruction &inside) {
    const auto *store = llvm::dyn_cast<llvm::StoreInst>(&inside);
    return store && store->getPointerAddressSpace() == kGlobal;
  });
}

void dropMask(Instruction &instruction) {
  auto &branch = llvm::cast<llvm::BranchInst>(instruction);
  branch.setCondition(llvm::ConstantInt::getTrue(branch.getContext()));
}

// --- orders ---

bool isOrdered(const Instruction &instruction) {
  if (const auto *rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return llvm::isStrongerThanMonotonic(rmw->getOrdering());
  const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
  return exchange && llvm::isStrongerThanMonotonic(exchange->getSuccessOrdering());
}

void relax(Instruction &instruction) {
  if (auto *rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    rmw->setOrdering(llvm::AtomicOrdering::Monotonic);
  else
    llvm::cast<llvm::AtomicCmpXchgInst>(instruction)
        .setSuccessOrdering(llvm::AtomicOrdering::Monotonic);
}

/// What orders threads: without it there is a race.
const std::vector<Fault> kOrderFaults{
    {"a barrier is missing",
     [](const Instruction &i) {
       return isCallOf(i, {"llvm.nvvm.barrier.cta", "llvm.amdgcn.s.barrier"});
     },
     erase},
    {"a fence is missing", [](const Instruction &i) { return llvm::isa<llvm::FenceInst>(i); },
     erase},
};
const std::vector<Fault> kAtomicFaults{{"an atomic orders nothing", isOrdered, relax}};

/// What may break a rule, or give wrong numbers.
const std::vector<Fault> kOtherFaults{
    {"a shuffle takes the lane's own value", isShuffle, takeOwn},
    {"a store to shared memory is one element off",
     [](const Instruction &i) { return llvm::isa<llvm::StoreInst>(i) && isInShared(i); },
     moveByOne},
    {"a load from shared memory is one element off",
     [](const Instruction &i) { return llvm::isa<llvm::LoadInst>(i) && isInShared(i); }, moveByOne},
    {"a store has lost its mask", isMask, dropMask},
};

/// Where a fault was planted, and what came of it.
struct Finding {
  std::string line, report; // `.cpp:12:`
  bool isWrong;             // the numbers
};

/// One kernel's code, and what it leaves when nothing is wrong with it.
class Patient {
public:
  Patient(const TableKernel &one, const target::GpuTarget &target)
      : one_(one), target_(target), kernel_(one.kernel.clone()), correct_(one) {
    code_ = codeOf(kernel_, target, correct_.arguments());
    REQUIRE(run(*code_.copy(), correct_) == "");
  }

  /// Plants a fault at the first of its places, the last, and some between.
  std::vector<Finding> suffer(const Fault &fault) {
    constexpr std::size_t kMost = 4;
    const std::size_t places = count(fault, *code_.module);
    const std::size_t step = (places + kMost - 1) / kMost;
    std::vector<Finding> findings;
    for (std::size_t place = 0; place < places; place += step) {
      const auto module = code_.copy();
      Finding &finding = findings.emplace_back();
      finding.line = plant(fault, *module, place);
      TableLaunch launch(one_);
      finding.report = run(*module, launch);
      finding.isWrong = !(launch == correct_);
    }
    return findings;
  }

  /// The place of the first op of a kind.
  std::string lineOf(ir::OpKind kind) const {
    std::string line;
    ir::walk(one_.kernel.body(), [&](const ir::Op &op) {
      if (op.kind == kind && line.empty()) line = ".cpp:" + std::to_string(op.where.line);
    });
    return line;
  }

private:
  static std::size_t count(const Fault &fault, llvm::Module &module) {
    std::size_t places = 0;
    for (llvm::Function &function : module)
      for (const Instruction &instruction : llvm::instructions(function))
        places += fault.isPlace(instruction) ? 1 : 0;
    return places;
  }

  /// Gives the line.
  static std::string plant(const Fault &fault, llvm::Module &module, std::size_t place) {
    for (llvm::Function &function : module)
      for (Instruction &instruction : llvm::instructions(function)) {
        if (!fault.isPlace(instruction) || place-- > 0) continue;
        const llvm::DebugLoc where = instruction.getDebugLoc();
        fault.plant(instruction);
        return ".cpp:" + std::to_string(where ? where.getLine() : 0);
      }
    return {};
  }

  std::string run(const llvm::Module &module, TableLaunch &launch) const {
    Diagnostics diagnostics;
    const auto program =
        emulate::EmulatedProgram::compile(module, target_.machine(), code_.interface, diagnostics);
    REQUIRE_MESSAGE(program, diagnostics.render());
    emulate::EmulatorOptions options;
    options.mostTurns = 100'000;
    program->run(one_.grid, launch.arguments(), options, diagnostics);
    return diagnostics.render();
  }

  const TableKernel &one_;
  const target::GpuTarget &target_;
  ir::Kernel kernel_;
  TableLaunch correct_;
  GpuCode code_;
};

/// Calls a function with each fault's findings in kernels of the table. How many faults there were.
int plantIn(const machine::Machine &machine, llvm::ArrayRef<llvm::StringRef> patients,
            llvm::ArrayRef<Fault> faults,
            llvm::function_ref<void(const Patient &, const Finding &)> check) {
  int planted = 0;
  for (const TableKernel &one : kernelTable(machine)) {
    if (!llvm::is_contained(patients, one.name)) continue;
    CAPTURE(one.name);
    Patient patient(one, target::gpuTarget(machine));
    for (const Fault &fault : faults) {
      CAPTURE(std::string(fault.what));
      for (const Finding &finding : patient.suffer(fault)) {
        CAPTURE(finding.line);
        CAPTURE(finding.report);
        check(patient, finding);
        ++planted;
      }
    }
  }
  return planted;
}

void checkFaults(llvm::StringRef target) {
  const machine::Machine &machine = *machine::findMachine(target);
  // In these no barrier is there to be on the safe side.
  int planted = plantIn(machine, {"transposed_u8", "reductions", "scans", "counted", "scan_tiles"},
                        kOrderFaults, [](const Patient &, const Finding &finding) {
                          CHECK(contains(finding.report, "in no order"));
                          CHECK(contains(finding.report, finding.line));
                        });
  planted += plantIn(machine, {"last_block", "locked"}, kAtomicFaults,
                     [](const Patient &patient, const Finding &finding) {
                       CHECK(contains(finding.report, "in no order"));
                       CHECK(contains(finding.report, patient.lineOf(ir::OpKind::Load)));
                       CHECK(contains(finding.report, patient.lineOf(ir::OpKind::Store)));
                     });
  int found = 0;
  const int others =
      plantIn(machine,
              {"transposed_u8", "reductions", "scans", "counted", "sorts", "product_f16",
               "last_block", "masked_pointers", "padded_boxes", "shapes"},
              kOtherFaults, [&](const Patient &, const Finding &finding) {
                found += finding.isWrong || !finding.report.empty() ? 1 : 0;
                CHECK((finding.report.empty() || contains(finding.report, finding.line)));
              });
  // The rest change nothing that can be seen: what is moved in a tile's padding or in lanes whose
  // results nobody takes, and a mask that lets one of several lanes store what all of them hold.
  CHECK(found >= others * 8 / 10);
  CHECK(planted + found >= 100);
}

} // namespace
} // namespace imbrex::testing

TEST_CASE("what is broken in a kernel's code is found, emulated on sm_90a") {
  imbrex::testing::checkFaults("sm_90a");
}
TEST_CASE("what is broken in a kernel's code is found, emulated on gfx942") {
  imbrex::testing::checkFaults("gfx942");
}
