#include "backend/support/check.h"
#include "backend/target/host/emitter.h"

namespace imbrex::host {

void Emitter::emitControl(const ir::Op &op) {
  IMBREX_UNREACHABLE("no {0} yet", info(op.kind).mnemonic);
}
void Emitter::emitWhole(const ir::Op &op) {
  IMBREX_UNREACHABLE("no {0} yet", info(op.kind).mnemonic);
}

} // namespace imbrex::host
