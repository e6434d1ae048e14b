// docs/schedule-text.md: prose by hand, and between its marks what the tables say. And the
// schedules that the fuzz test starts from.

#include "backend/schedule/check/check.h"
#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/support/environment.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

const std::filesystem::path kPage = "../../../docs/schedule-text.md";

std::string_view formOf(ScheduleOpKind kind, Fields field) {
  switch (field) {
  case kAccesses: return "*accesses*";
  case kBarrier: return hasIndex(kind) ? "*slot of a barrier*" : "*barrier*";
  case kQueue: return "*queue*";
  case kMeeting: return "*meeting*";
  case kCursor: return "*cursor*";
  case kLoop: return "*trips*";
  case kGuard: return "*condition*";
  case kNone:
  case kCount:
  case kBytes: break; // attributes
  }
  return "";
}

template <class T>
bool mayBeLeftOut(const Attribute<T> &row, const T &blank) {
  const auto number = row.get(blank);
  return !number || row.range.contains(*number);
}

std::string formOf(ScheduleOpKind kind) {
  std::ostringstream text;
  text << "`" << info(kind).mnemonic << "`";
  for (const Operand &operand : operandsOf(kind)) {
    text << (operand.mayLack ? " [" : " ");
    if (!operand.word.empty()) text << "`" << operand.word << "` ";
    text << formOf(kind, operand.field) << (operand.mayLack ? "]" : "");
  }
  for (const Attribute<ScheduleOp> &row : attributesOf(kind)) {
    const bool isOptional = mayBeLeftOut(row, blank(kind));
    text << (isOptional ? " [" : " ") << "`" << row.word << "`" << (row.isFlag() ? "" : " *n*")
         << (isOptional ? "]" : "");
  }
  if (hasBody(kind)) text << " `{` {op} `}`";
  return text.str();
}

std::string opTable() {
  std::ostringstream text;
  text << "| op | meaning |\n|---|---|\n";
  for (std::size_t i = 0; i < kOps.size(); ++i)
    text << "| " << formOf(static_cast<ScheduleOpKind>(i)) << " | " << kOps[i].meaning << " |\n";
  return text.str();
}

template <class T>
void addRows(std::ostream &text, std::string_view noun,
             std::span<const std::type_identity_t<Attribute<T>>> rows) {
  for (const Attribute<T> &row : rows) {
    text << "| " << noun << " | `" << row.word << "`";
    if (row.isFlag()) {
      text << " | | |\n";
      continue;
    }
    const auto otherwise = row.get(T());
    text << " *n* | " << row.range.least << " to " << row.range.most << " | "
         << (otherwise ? std::to_string(*otherwise) : "apart from all others") << " |\n";
  }
}

std::string attributeTable() {
  std::ostringstream text;
  text << "| of | attribute | n | if left out |\n|---|---|---|---|\n";
  addRows<Trips>(text, "trips", kTripsAttributes);
  addRows<Ring>(text, "ring", kRingAttributes);
  addRows<Buffer>(text, "buffer", kBufferAttributes);
  addRows<Barrier>(text, "barrier", kBarrierAttributes);
  addRows<Meeting>(text, "meeting", kMeetingAttributes);
  addRows<Role>(text, "role", kRoleAttributes);
  addRows<Queue>(text, "queue", kQueueAttributes);
  for (std::size_t i = 0; i < kOps.size(); ++i)
    for (const Attribute<ScheduleOp> &row : attributesOf(static_cast<ScheduleOpKind>(i))) {
      text << "| `" << kOps[i].mnemonic << "` | `" << row.word << "`";
      const ScheduleOp none = blank(static_cast<ScheduleOpKind>(i));
      if (row.isFlag())
        text << " | | |\n";
      else
        text << " *n* | " << row.range.least << " to " << row.range.most << " | "
             << (mayBeLeftOut(row, none) ? std::to_string(*row.get(none)) : "must be given")
             << " |\n";
    }
  return text.str();
}

/// The page with the part behind a mark made anew.
std::string refreshed(std::string page, std::string_view mark, const std::string &part) {
  const std::size_t begin = page.find(mark);
  REQUIRE_MESSAGE(begin != std::string::npos, "the page has no ", std::string(mark));
  const std::size_t from = begin + mark.size(), end = page.find("<!-- end -->", from);
  REQUIRE(end != std::string::npos);
  return page.replace(from, end - from, part);
}

std::string errorsIn(std::string_view text, Completeness form = Completeness::Complete) {
  Diagnostics diagnostics;
  const auto program = parse(text, "file.imx", diagnostics);
  if (program) verify(*program, diagnostics, form);
  return diagnostics.render();
}

} // namespace

TEST_CASE("docs/schedule-text.md says what the tables say") {
  const std::string page = testing::readFile(kPage);
  std::string wanted =
      refreshed(page, "<!-- made of backend/schedule/program/program_ops.def -->\n", opTable());
  wanted = refreshed(wanted, "<!-- made of backend/schedule/program/attributes.h -->\n",
                     attributeTable());
  if (environment().updateGolden)
    std::ofstream(kPage, std::ios::binary) << wanted;
  else
    CHECK_MESSAGE(page == wanted, "docs/schedule-text.md is stale: run unit_schedule with "
                                  "IMBREX_UPDATE_GOLDEN=1");
}

TEST_CASE("the schedule that docs/schedule-text.md begins with is proven, and printed so") {
  const std::string page = testing::readFile(kPage);
  const std::size_t begin = page.find("schedule @gemm"), end = page.find("```", begin);
  REQUIRE(end != std::string::npos);
  const std::string text = page.substr(begin, end - begin);
  CHECK(errorsIn(text) == "");
  Diagnostics diagnostics;
  const auto program = parse(text, "page.imx", diagnostics);
  REQUIRE(program);
  CHECK(print(*program) == text);
  Diagnostics findings;
  report(prove(*program), findings);
  CHECK(findings.render() == "");
}

TEST_CASE("the schedule at the head of program.h is well formed") {
  std::istringstream header(testing::readFile("../../../backend/schedule/program/program.h"));
  std::string text;
  for (std::string line; std::getline(header, line);)
    if (line.starts_with("///   ")) text += line.substr(3) + "\n";
  REQUIRE(text.find("schedule @example") != std::string::npos);
  CHECK(errorsIn(text) == "");
}

TEST_CASE("every schedule that the fuzz test starts from is well formed") {
  std::size_t files = 0;
  for (const auto &file : std::filesystem::directory_iterator("../../fuzz/schedule")) {
    CAPTURE(file.path().string());
    CHECK(errorsIn(testing::readFile(file.path()), Completeness::WithoutBarriers) == "");
    ++files;
  }
  CHECK(files >= 3);
}
