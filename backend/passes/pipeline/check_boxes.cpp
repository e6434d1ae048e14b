#include "backend/passes/pipeline/check_boxes.h"

#include "backend/machine/role_registers.h"

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// Roles that take more registers than the launch has would wait for ever.
void checkRegisters(const Kernel &kernel, const Op &roles, const machine::Machine &machine,
                    Diagnostics &diagnostics) {
  using machine::RegisterChange;
  const auto &attrs = roles.attrs<RolesAttrs>();
  if (attrs.releases == 0 && attrs.takes == 0 && attrs.blocks == 0) return;
  const std::int32_t own = kernel.threads().warps;
  const std::vector<machine::RoleRegisters> both{
      {.name = "compute", .warps = own, .change = RegisterChange::Takes, .registers = attrs.takes},
      {.name = "load",
       .firstWarp = own,
       .warps = attrs.warps,
       .change = RegisterChange::Releases,
       .registers = attrs.releases}};
  const machine::RegisterLaunch launch{.threads = (own + attrs.warps) * machine.warpSize,
                                       .minBlocks = attrs.blocks};
  for (const Diagnostic &wrong : validateRegisters(both, launch, machine, roles.where))
    diagnostics.add(wrong);
}

} // namespace

bool checkBoxes(const Kernel &kernel, const machine::Machine &machine,
                const analysis::Assumptions &assumptions, Diagnostics &diagnostics) {
  const std::size_t errors = diagnostics.all().size();
  const auto report = [&](Diag kind, const Op &op, const auto &...arguments) {
    diagnostics.report(kind, op.where, info(op.kind).mnemonic, arguments...);
  };
  const auto checkView = [&](const Op &load) {
    const std::size_t number = kernel.parameterNumber(load.operand(2));
    if (!assumptions.of(number).hasBoxes)
      report(Diag::PipelineBoxForeign, load, kernel.parameterName(number));
    walk(kernel.body(), [&](const Op &op) {
      const Effect effect = info(op.kind).effect;
      if (effect != Effect::Write && effect != Effect::Atomic) return;
      const auto written = rootParameter(kernel, op.operand(0));
      if (!written || *written == number || !assumptions.areDisjoint)
        report(Diag::PipelineBoxWritten, load);
    });
  };
  walk(kernel.body(), [&](const Op &op) {
    const bool isOfEngine =
        op.kind == OpKind::RingLoadBox || op.kind == OpKind::BarrierNew || op.kind == OpKind::Roles;
    if (isOfEngine && !machine.asyncCopies.haveEngine)
      report(Diag::PipelineNoEngine, op, machine.name);
    if (op.kind == OpKind::RingLoadBox) checkView(op);
    if (op.kind == OpKind::Roles) checkRegisters(kernel, op, machine, diagnostics);
  });
  return diagnostics.all().size() == errors;
}

} // namespace imbrex::passes::pipeline
