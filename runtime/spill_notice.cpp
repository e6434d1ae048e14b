#include "runtime/spill_notice.h"

#include "backend/assembly.h"
#include "backend/spills.h"
#include "runtime/log.h"

namespace imbrex::runtime {

namespace {
constexpr std::string_view kTopic = "spill";
}

std::string SpillNotice::textOf(const std::optional<Diagnostic> &spills) {
  if (!spills) return "";
  const std::string place = spills->where.known() ? imbrex::toText(spills->where) + ": " : "";
  return place + spills->message + "; " + spills->hint;
}

void SpillNotice::tell(const std::string &spills) const {
  if (spills.empty() || isTold_.exchange(true)) return;
  log(log_level::warn, kTopic, "{0}", spills);
}

void SpillNotice::tellOf(const GpuCode &code, const target::GpuTarget &target) const {
  if (isTold_ || !target.assemblesByItself() || !isLogged(log_level::warn, kTopic)) return;
  const auto assembly = makeAssembly(code, target);
  if (!assembly) return; // which whoever wants the code will be told
  const auto object = makeObject(*assembly, target);
  if (object) tell(textOf(spillsOf(code, target, *assembly, *object)));
}

} // namespace imbrex::runtime
