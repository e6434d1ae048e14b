#include "backend/target/amdgpu/product_order.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

/// In which order AMD's code reads and multiplies.
namespace imbrex::target::amdgpu {
namespace {

/// A loop with this in its body: %x and %sum come from the trip before, %y and %last go to the
/// next.
std::string loopOf(const std::string &body) {
  return R"(
declare void @llvm.amdgcn.s.barrier()
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)
define amdgpu_kernel void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x = phi <4 x half> [ zeroinitializer, %entry ], [ %y, %loop ]
  %sum = phi <4 x float> [ zeroinitializer, %entry ], [ %last, %loop ]
)" + body +
         R"(
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  store <4 x float> %last, ptr addrspace(1) %g
  ret void
}
)";
}

std::string product(const std::string &name, const std::string &factor, const std::string &sum) {
  return "  %" + name + " = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %" +
         factor + ", <4 x half> %" + factor + ", <4 x float> %" + sum + ", i32 0, i32 0, i32 0)\n";
}
std::string products(int first, int count, const std::string &factor) {
  std::string text;
  for (int i = first; i < first + count; ++i)
    text += product("p" + std::to_string(i), factor, i == 0 ? "sum" : "p" + std::to_string(i - 1));
  return text;
}
std::string read(const std::string &name, int place) {
  return "  %at" + name + " = getelementptr i8, ptr addrspace(3) %s, i32 " + std::to_string(place) +
         "\n  %" + name + " = load <4 x half>, ptr addrspace(3) %at" + name + "\n";
}
const char *const kMeeting = "  call void @llvm.amdgcn.s.barrier()\n";
const char *const kStore = "  store <4 x half> %x, ptr addrspace(3) %s\n";

/// The loop's order, a letter each: store, load, read, product, meeting; and the groups asked for.
struct Order {
  std::string text, groups;
};

Order orderOf(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(loopOf(body), problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  orderProducts(*module);
  REQUIRE(!llvm::verifyModule(*module));
  Order order;
  for (const llvm::Instruction &instruction : *std::next(module->getFunction("f")->begin())) {
    const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call == nullptr) {
      const bool isShared = llvm::isa<llvm::LoadInst>(instruction) &&
                            llvm::cast<llvm::LoadInst>(instruction).getPointerAddressSpace() == 3;
      if (llvm::isa<llvm::LoadInst>(instruction)) order.text += isShared ? 'R' : 'L';
      if (llvm::isa<llvm::StoreInst>(instruction)) order.text += 'S';
    } else if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_sched_group_barrier) {
      const auto number = [&](unsigned i) {
        return llvm::cast<llvm::ConstantInt>(call->getArgOperand(i))->getZExtValue();
      };
      const char kind = number(0) == 8       ? 'P'
                        : number(0) == 0x100 ? 'R'
                        : number(0) == 0x20  ? 'L'
                                             : 'S';
      order.groups += std::string(number(1), kind);
    } else {
      order.text += call->getIntrinsicID() == llvm::Intrinsic::amdgcn_s_barrier ? 'B' : 'P';
    }
  }
  return order;
}

} // namespace

TEST_CASE("reads stand ahead of the products that want them, one between two") {
  const Order order = orderOf(kMeeting + products(0, 6, "x") + read("a", 16) + products(6, 1, "a") +
                              read("b", 32) + products(7, 5, "b") + read("y", 48) +
                              "  %last = fadd <4 x float> %p11, zeroinitializer\n");
  CHECK(order.text == "BPPPPPPRPRPPPPPR"); // sums are looked at: it stays
  CHECK(order.groups == "");
  const Order summed =
      orderOf(kMeeting + products(0, 6, "x") + read("a", 16) + products(6, 1, "a") + read("b", 32) +
              products(7, 4, "b") + product("last", "b", "p10") + read("y", 48));
  CHECK(summed.text == "BPPRPRPPPPPRPPPP");
  CHECK(summed.groups == "PPRPRPPPPPRPPPP");
}

TEST_CASE("products that are ready stand between stores into slots") {
  const std::string stores = std::string(kStore) + kStore + kStore + kStore;
  const Order order = orderOf(kMeeting + stores + "  %l = load <4 x half>, ptr addrspace(1) %g\n" +
                              kMeeting + products(0, 4, "x") + read("a", 16) + products(4, 4, "a") +
                              read("y", 48) + product("last", "a", "p7"));
  CHECK(order.text == "BSSPSSPLBRPPPRPPPP");
  CHECK(order.groups == "SSPSSPLRPPPRPPPP");
}

TEST_CASE("loads into slots stand between products, behind the first reads") {
  const std::string load = " = load <4 x half>, ptr addrspace(1) %g\n";
  const Order order =
      orderOf(kMeeting + ("  %l" + load) + "  %m" + load + products(0, 2, "x") + read("a", 16) +
              products(2, 6, "a") + read("y", 48) + product("last", "a", "p7"));
  CHECK(order.text == "BRPLPLPPPRPPPP");
  CHECK(order.groups == order.text.substr(1));
}

TEST_CASE("a few products, or many reads, are left to LLVM") {
  const Order few =
      orderOf(kMeeting + read("y", 16) + products(0, 6, "x") + product("last", "y", "p5"));
  CHECK(few.groups == "");
  std::string reads;
  for (int i = 0; i < 20; ++i) reads += read("r" + std::to_string(i), 16 * i);
  const Order many =
      orderOf(kMeeting + reads + read("y", 16) + products(0, 8, "x") + product("last", "y", "p7"));
  CHECK(many.groups == "");
}

TEST_CASE("products whose factors are computed by much arithmetic are left to LLVM") {
  const auto groupsWith = [](int additions) {
    std::string text = std::string(kMeeting) + "  %n0 = add i32 %i, 1\n";
    for (int i = 1; i < additions; ++i)
      text += "  %n" + std::to_string(i) + " = add i32 %n" + std::to_string(i - 1) + ", 1\n";
    return orderOf(text + products(0, 8, "x") + read("y", 16) + product("last", "y", "p7")).groups;
  };
  CHECK(groupsWith(1000) == "PPPPRPPPPP");
  CHECK(groupsWith(1030) == "");
}

TEST_CASE("an order of so many groups that LLVM takes seconds for it is not asked for") {
  // Each product wants a read of its own.
  const auto orderWith = [](int reads) {
    std::string text = std::string(kMeeting) + products(0, 4, "x");
    for (int i = 0; i < reads; ++i)
      text += read("r" + std::to_string(i), 16 * i) + products(4 + i, 1, "r" + std::to_string(i));
    return orderOf(text + read("y", 16) + product("last", "y", "p" + std::to_string(3 + reads)));
  };
  CHECK(orderWith(90).groups == orderWith(90).text.substr(1));
  CHECK(orderWith(100).groups == "");
  // They stand so for all that.
  CHECK(orderWith(100).text.starts_with("BRPRPRPRP"));
}

TEST_CASE("a place that is made of a renewed number is a place") {
  const std::string renewed = "  %k = call i32 asm \"\", \"=v,0\"(i32 %i)\n"
                              "  %at = getelementptr i8, ptr addrspace(3) %s, i32 %k\n"
                              "  %y = load <4 x half>, ptr addrspace(3) %at\n";
  const auto groupsOf = [](const std::string &reads) {
    return orderOf(kMeeting + products(0, 8, "x") + reads + product("last", "y", "p7")).groups;
  };
  CHECK(groupsOf(renewed) == "PPPPRPPPPP");
  const auto with = [&](const char *what, const char *other) {
    std::string text = renewed;
    return text.replace(text.find(what), std::string(what).size(), other);
  };
  CHECK(groupsOf(with("asm", "asm sideeffect")) == "");
  CHECK(groupsOf(with("asm \"\"", "asm \"v_mov_b32 $0, $1\"")) == "");
}

TEST_CASE("what is loaded from global memory, or ordered on the way, stays where it is") {
  const std::string load = "  %l = load <4 x half>, ptr addrspace(1) %g\n";
  const std::string fence = "  fence acquire\n";
  const std::string rest =
      read("a", 16) + products(8, 2, "a") + read("y", 48) + product("last", "a", "p9");
  for (const std::string &body :
       {kMeeting + load + products(0, 8, "l") + rest,
        kMeeting + std::string(kStore) + kMeeting + load + products(0, 8, "l") + rest,
        kMeeting + products(0, 8, "x") + fence + rest,
        kMeeting + products(0, 8, "x") + std::string(kStore) + rest}) {
    CAPTURE(body);
    CHECK(orderOf(body).groups == "");
  }
}

TEST_CASE("what products are made of is looked at once") {
  std::string chain = "  %c0 = fadd <4 x half> %x, %x\n";
  for (int i = 1; i < 200; ++i) {
    const std::string before = "%c" + std::to_string(i - 1);
    chain += "  %c" + std::to_string(i) + " = fmul <4 x half> " + before + ", " + before + "\n";
  }
  const Order order = orderOf(kMeeting + chain + products(0, 8, "c199") + read("y", 16) +
                              product("last", "c199", "p7"));
  CHECK(order.groups == "PPPPPRPPPP");
}

} // namespace imbrex::target::amdgpu
