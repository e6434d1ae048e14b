#include "tests/run/machines/guest_link.h"

#include "backend/support/check.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"

#include <cstring>

namespace imbrex::testing {
namespace {

namespace jitlink = llvm::jitlink;
using llvm::orc::ExecutorAddr;

/// Both sides have the memory at one address, so that code is in place as soon as it is written.
class GuestMemory final : public jitlink::JITLinkMemoryManager {
public:
  explicit GuestMemory(GuestProcess &guest) : guest_(guest) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &graph,
                OnAllocatedFunction onAllocated) override {
    jitlink::BasicLayout layout(graph);
    for (auto &[group, segment] : layout.segments()) {
      IMBREX_CHECK(segment.Alignment.value() <= 64, "a segment is aligned to {0}",
                   segment.Alignment.value());
      std::byte *at = guest_.allocateCode(segment.ContentSize + segment.ZeroFillSize);
      segment.Addr = ExecutorAddr::fromPtr(at);
      segment.WorkingMem = reinterpret_cast<char *>(at);
    }
    if (llvm::Error error = layout.apply()) return onAllocated(std::move(error));
    onAllocated(std::make_unique<InFlight>());
  }

  void deallocate(std::vector<FinalizedAlloc>, OnDeallocatedFunction onDeallocated) override {
    onDeallocated(llvm::Error::success());
  }

private:
  struct InFlight final : InFlightAlloc {
    void abandon(OnAbandonedFunction onAbandoned) override { onAbandoned(llvm::Error::success()); }
    void finalize(OnFinalizedFunction onFinalized) override { onFinalized(FinalizedAlloc()); }
  };

  GuestProcess &guest_;
};

class Link final : public jitlink::JITLinkContext {
public:
  Link(GuestProcess &guest, const std::map<std::string, std::uint64_t> &symbols,
       const std::string &wanted, std::uint64_t &address)
      : JITLinkContext(nullptr), memory_(guest), symbols_(symbols), wanted_(wanted),
        address_(address) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory_; }
  void notifyFailed(llvm::Error error) override {
    IMBREX_UNREACHABLE("JITLink failed: {0}", llvm::toString(std::move(error)));
  }
  void lookup(const LookupMap &symbols,
              std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> then) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : symbols) {
      const auto symbol = symbols_.find((*name).str());
      IMBREX_CHECK(symbol != symbols_.end(), "compiled code calls {0}", *name);
      found[name] = {ExecutorAddr(symbol->second), llvm::JITSymbolFlags::Exported};
    }
    then->run(std::move(found));
  }
  llvm::Error notifyResolved(jitlink::LinkGraph &graph) override {
    for (const jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && *symbol->getName() == wanted_)
        address_ = symbol->getAddress().getValue();
    return llvm::Error::success();
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc) override {}

private:
  GuestMemory memory_;
  const std::map<std::string, std::uint64_t> &symbols_;
  const std::string &wanted_;
  std::uint64_t &address_;
};

} // namespace

std::uint64_t linkInto(GuestProcess &guest, const std::map<std::string, std::uint64_t> &symbols,
                       llvm::MemoryBufferRef object, const std::string &wanted) {
  std::uint64_t address = 0;
  const auto names = std::make_shared<llvm::orc::SymbolStringPool>();
  auto graph = jitlink::createLinkGraphFromObject(object, names);
  IMBREX_CHECK(bool(graph), "JITLink does not take the object: {0}",
               llvm::toString(graph.takeError()));
  jitlink::link(std::move(*graph), std::make_unique<Link>(guest, symbols, wanted, address));
  IMBREX_CHECK(address != 0, "the code has no {0}", wanted);
  return address;
}

} // namespace imbrex::testing
