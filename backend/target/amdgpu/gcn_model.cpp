#include "backend/target/amdgpu/gcn_model.h"

#include "backend/support/check.h"

namespace imbrex::target::amdgpu {
namespace {

using Scope = MemoryScope; // for tables of 100 columns

// clang-format off
//                 waits   write-back         behind: wait, invalidations
constexpr GcnModel kGfx90a{.countsStoresApart = false, .writeBackCounts = kLoads, .orders = {{
    {Scope::Block,  kLds, "",                        false, {}},
    {Scope::Device, kAll, "",                        true,  {"buffer_wbinvl1_vol"}},
    {Scope::System, kAll, "buffer_wbl2",             true,  {"buffer_invl2", "buffer_wbinvl1_vol"}}}},
    .steps = {{{Scope::Block, "", "", ""}, {Scope::Device, "glc", "", ""}, {Scope::System, "glc", "", ""}}}};

constexpr GcnModel kGfx940{.countsStoresApart = false, .writeBackCounts = kLoads, .orders = {{
    {Scope::Block,  kLds, "",                        false, {}},
    {Scope::Device, kAll, "buffer_wbl2 sc1",         true,  {"buffer_inv sc1"}},
    {Scope::System, kAll, "buffer_wbl2 sc0 sc1",     true,  {"buffer_inv sc0 sc1"}}}},
    .steps = {{{Scope::Block, "sc0", "sc0", ""}, {Scope::Device, "sc1", "sc1", ""}, {Scope::System, "sc0 sc1", "sc0 sc1", "sc1"}}}};

constexpr GcnModel kGfx10{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Scope::Block,  kAll, "",                        true,  {"buffer_gl0_inv"}},
    {Scope::Device, kAll, "",                        true,  {"buffer_gl1_inv", "buffer_gl0_inv"}},
    {Scope::System, kAll, "",                        true,  {"buffer_gl1_inv", "buffer_gl0_inv"}}}},
    .steps = {{{Scope::Block, "glc", "", ""}, {Scope::Device, "glc dlc", "", ""}, {Scope::System, "glc dlc", "", ""}}}};

// As gfx10, but that loads need no dlc.
constexpr GcnModel kGfx11{.countsStoresApart = true, .writeBackCounts = kStores, .orders = kGfx10.orders,
    .steps = {{{Scope::Block, "glc", "", ""}, {Scope::Device, "glc", "", ""}, {Scope::System, "glc", "", ""}}}};

constexpr std::array<StepRow, 3> kScopes{{
    {Scope::Block,  "scope:SCOPE_SE",  "scope:SCOPE_SE",  "scope:SCOPE_SE"},
    {Scope::Device, "scope:SCOPE_DEV", "scope:SCOPE_DEV", "scope:SCOPE_DEV"},
    {Scope::System, "scope:SCOPE_SYS", "scope:SCOPE_SYS", "scope:SCOPE_SYS"}}};

constexpr GcnModel kGfx12{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Scope::Block,  kAll, "",                          true,  {"global_inv scope:SCOPE_SE"}},
    {Scope::Device, kAll, "",                          true,  {"global_inv scope:SCOPE_DEV"}},
    {Scope::System, kAll, "global_wb scope:SCOPE_SYS", true,  {"global_inv scope:SCOPE_SYS"}}}},
    .steps = kScopes};

// A block is on one compute unit there, and not all of a device is behind one second cache.
constexpr GcnModel kGfx1250{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Scope::Block,  kAll, "",                          true,  {}},
    {Scope::Device, kAll, "global_wb scope:SCOPE_DEV", true,  {"global_inv scope:SCOPE_DEV"}},
    {Scope::System, kAll, "global_wb scope:SCOPE_SYS", true,  {"global_inv scope:SCOPE_SYS"}}}},
    .steps = {{{Scope::Block, "", "", ""}, kScopes[1], kScopes[2]}}};
// clang-format on

} // namespace

const GcnModel &modelOf(llvm::AMDGPU::IsaVersion isa) {
  switch (isa.Major) {
  case 9: return isa.Minor == 0 ? kGfx90a : kGfx940;
  case 10: return kGfx10;
  case 11: return kGfx11;
  case 12: return isa.Minor == 5 ? kGfx1250 : kGfx12;
  default: IMBREX_UNREACHABLE("no memory model is written down of gfx{0}", isa.Major);
  }
}

} // namespace imbrex::target::amdgpu
