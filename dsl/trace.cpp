#include "backend/ir/text.h"
#include "backend/support/check.h"
#include "backend/support/float_state.h"
#include "backend/support/text.h"
#include "dsl/recorder.h"
#include "dsl/traced_kernel.h"

#include <algorithm>
#include <array>
#include <set>

namespace imbrex {

std::string traced_kernel::text() const {
  const DefaultFloatState state;
  return ir::print(*kernel_);
}
const std::string &traced_kernel::name() const { return kernel_->name(); }
std::size_t traced_kernel::parameter_count() const { return kernel_->parameterCount(); }
const std::string &traced_kernel::parameter_name(std::size_t i) const {
  return kernel_->parameterName(i);
}

namespace dsl {

error toError(const Diagnostic &diagnostic) {
  std::string text = render(diagnostic);
  if (text.ends_with('\n')) text.pop_back();
  std::vector<std::string> notes;
  if (!diagnostic.hint.empty()) notes.push_back(diagnostic.hint);
  return {std::string(info(diagnostic.kind).name),
          {std::string(diagnostic.where.file), diagnostic.where.line},
          std::move(notes),
          text};
}

void throwError(const Diagnostic &diagnostic) { throw toError(diagnostic); }

} // namespace dsl

namespace detail {

namespace {

void checkNames(const traced_body &body, location where) {
  const names &given = body.given;
  if (given.size() == 0) return;
  if (given.size() != body.arity)
    dsl::throwDiagnostic(Diag::ParameterNames, locate(where), body.name, body.arity, given.size());
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!seen.insert(given[i]).second)
      dsl::throwDiagnostic(Diag::RepeatedParameterName, locate(where), body.name, given[i]);
}

} // namespace

void throw_error(const error &mistake) { throw mistake; }

traced_kernel trace_body(const traced_body &body, location where) {
  checkNames(body, where);
  trace_session session(body.name, body.how, where);
  body.call(body.kernel, session, body.given);
  return session.finish();
}

result<traced_kernel> try_trace_body(const traced_body &body, location where) {
  try {
    return trace_body(body, where);
  } catch (const error &mistake) {
    return mistake;
  }
}

namespace {

ir::KernelAttrs attributesOf(const recording &how) {
  ir::KernelAttrs attributes{.warps = how.warps,
                             .registers = how.registers,
                             .contract = how.contracts ? ir::Contraction::On : ir::Contraction::Off,
                             .cooperative = how.cooperative,
                             .programmatic = how.programmatic};
  if (!is_one_block(how.cluster))
    attributes.cluster = {how.cluster.x, how.cluster.y, how.cluster.z};
  return attributes;
}

} // namespace

trace_session::trace_session(std::string_view name, const recording &how, location where) {
  using ir::KernelAttrs;
  static_assert(KernelAttrs::kMostWarps == most_warps &&
                KernelAttrs::kLeastRegisters == least_registers &&
                KernelAttrs::kMostRegisters == most_registers &&
                KernelAttrs::kMostClusterBlocks == most_cluster_blocks);
  if (dsl::currentRecorder()) dsl::throwDiagnostic(Diag::NestedTrace, locate(where));
  if (how.warps != 0 && !are_warps(how.warps))
    dsl::throwDiagnostic(Diag::WarpsOfKernel, locate(where), name, how.warps, most_warps);
  if (how.registers != 0 && !are_registers(how.registers))
    dsl::throwDiagnostic(Diag::RegistersOfKernel, locate(where), name, how.registers,
                         least_registers, most_registers);
  if (!is_cluster(how.cluster))
    dsl::throwDiagnostic(Diag::ClusterOfKernel, locate(where), name,
                         joined(std::array{how.cluster.x, how.cluster.y, how.cluster.z}, " x "),
                         most_cluster_blocks);
  dsl::setCurrentRecorder(new dsl::Recorder(std::string(name), attributesOf(how)));
}

trace_session::~trace_session() {
  delete dsl::currentRecorder();
  dsl::setCurrentRecorder(nullptr);
}

value trace_session::add_parameter(const std::string &name, const type &described) {
  dsl::Recorder &recorder = *dsl::currentRecorder();
  return recorder.handle(recorder.addParameter(name, dsl::typeOf(described)));
}

traced_kernel trace_session::finish() {
  const DefaultFloatState state;
  dsl::Recorder &recorder = *dsl::currentRecorder();
  if (const auto &mistake = recorder.mistake()) dsl::throwError(*mistake);
  return traced_kernel(std::make_shared<const ir::Kernel>(recorder.finish()));
}

std::string kernel_name(std::string_view signature) {
  // g++: "… [with K = ns::matmul<int, 4>; …]", clang: "… [K = ns::matmul<int, 4>]". Compilers write
  // template arguments differently, so the name is what stands before them, behind the last `::`
  // that is not inside of brackets. A lambda, "main()::<lambda(int)>" or "(lambda at …)", has none.
  const std::size_t at = signature.find("K = ");
  if (at == std::string_view::npos) return "kernel";
  const std::string_view type = signature.substr(at + 4);
  std::string name;
  int depth = 0;
  bool isNamed = false; // all of the name has been seen
  for (const char c : type) {
    if (depth == 0 && (c == ';' || c == ']')) break;
    if (depth == 0 && c == ':') {
      name.clear();
      isNamed = false;
    } else if (depth == 0 && c == '<') {
      isNamed = true;
    } else if (depth == 0 && !isNamed) {
      name += c;
    }
    if (std::string_view("<([{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)]}").find(c) != std::string_view::npos) --depth;
  }
  const bool is_identifier = !name.empty() && std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return is_identifier ? name : "kernel";
}

std::string float_text(double number) { return toText(number); }

void raise(std::string_view diagnostic, location where,
           std::initializer_list<std::string> arguments) {
  const auto row = std::ranges::find(kDiagnostics, diagnostic, &DiagInfo::name);
  IMBREX_CHECK(row != kDiagnostics.end(), "there is no diagnostic '{0}'", diagnostic);
  dsl::throwError(makeDiagnostic(static_cast<Diag>(row - kDiagnostics.begin()), locate(where),
                                 {arguments.begin(), arguments.size()}));
}

} // namespace detail
} // namespace imbrex
