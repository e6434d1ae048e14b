#include "backend/package/member.h"

#include "backend/package/choice/fit.h"

namespace imbrex::package {

const Member *memberFor(llvm::ArrayRef<Member> members, std::string_view device) {
  const Member *best = nullptr;
  std::int32_t fit = 0;
  for (const Member &member : members)
    if (const std::int32_t its = fitOf(member.machine, member.isAssembly, device); its > fit)
      fit = its, best = &member;
  return best;
}

std::string describe(llvm::ArrayRef<Member> members) {
  std::string text;
  for (const Member &member : members)
    text.append(text.empty() ? "" : ", ")
        .append(member.isAssembly ? "assembly of " : "")
        .append(member.machine);
  return text;
}

} // namespace imbrex::package
