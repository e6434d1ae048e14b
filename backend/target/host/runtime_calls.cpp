#include "backend/target/host/runtime_calls.h"

namespace imbrex::host {

llvm::ArrayRef<RuntimeCall> runtimeCalls() { return {}; }

} // namespace imbrex::host
