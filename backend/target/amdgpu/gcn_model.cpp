#include "backend/target/amdgpu/gcn_model.h"

#include "backend/support/check.h"

namespace imbrex::target::amdgpu {
namespace {

// clang-format off
//                 waits   write-back         behind: wait, invalidations
constexpr Model kGfx90a{.countsStoresApart = false, .writeBackCounts = kLoads, .orders = {{
    {Reach::Block,  kLds, "",                        false, {}},
    {Reach::Device, kAll, "",                        true,  {"buffer_wbinvl1_vol"}},
    {Reach::System, kAll, "buffer_wbl2",             true,  {"buffer_invl2", "buffer_wbinvl1_vol"}}}},
    .steps = {{{Reach::Block, "", "", ""}, {Reach::Device, "glc", "", ""}, {Reach::System, "glc", "", ""}}}};

constexpr Model kGfx940{.countsStoresApart = false, .writeBackCounts = kLoads, .orders = {{
    {Reach::Block,  kLds, "",                        false, {}},
    {Reach::Device, kAll, "buffer_wbl2 sc1",         true,  {"buffer_inv sc1"}},
    {Reach::System, kAll, "buffer_wbl2 sc0 sc1",     true,  {"buffer_inv sc0 sc1"}}}},
    .steps = {{{Reach::Block, "sc0", "sc0", ""}, {Reach::Device, "sc1", "sc1", ""}, {Reach::System, "sc0 sc1", "sc0 sc1", "sc1"}}}};

constexpr Model kGfx10{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Reach::Block,  kAll, "",                        true,  {"buffer_gl0_inv"}},
    {Reach::Device, kAll, "",                        true,  {"buffer_gl1_inv", "buffer_gl0_inv"}},
    {Reach::System, kAll, "",                        true,  {"buffer_gl1_inv", "buffer_gl0_inv"}}}},
    .steps = {{{Reach::Block, "glc", "", ""}, {Reach::Device, "glc dlc", "", ""}, {Reach::System, "glc dlc", "", ""}}}};

// As gfx10, but that loads need no dlc.
constexpr Model kGfx11{.countsStoresApart = true, .writeBackCounts = kStores, .orders = kGfx10.orders,
    .steps = {{{Reach::Block, "glc", "", ""}, {Reach::Device, "glc", "", ""}, {Reach::System, "glc", "", ""}}}};

constexpr std::array<StepRow, 3> kScopes{{
    {Reach::Block,  "scope:SCOPE_SE",  "scope:SCOPE_SE",  "scope:SCOPE_SE"},
    {Reach::Device, "scope:SCOPE_DEV", "scope:SCOPE_DEV", "scope:SCOPE_DEV"},
    {Reach::System, "scope:SCOPE_SYS", "scope:SCOPE_SYS", "scope:SCOPE_SYS"}}};

constexpr Model kGfx12{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Reach::Block,  kAll, "",                          true,  {"global_inv scope:SCOPE_SE"}},
    {Reach::Device, kAll, "",                          true,  {"global_inv scope:SCOPE_DEV"}},
    {Reach::System, kAll, "global_wb scope:SCOPE_SYS", true,  {"global_inv scope:SCOPE_SYS"}}}},
    .steps = kScopes};

// A block is on one compute unit there, and not all of a device is behind one second cache.
constexpr Model kGfx1250{.countsStoresApart = true, .writeBackCounts = kStores, .orders = {{
    {Reach::Block,  kAll, "",                          true,  {}},
    {Reach::Device, kAll, "global_wb scope:SCOPE_DEV", true,  {"global_inv scope:SCOPE_DEV"}},
    {Reach::System, kAll, "global_wb scope:SCOPE_SYS", true,  {"global_inv scope:SCOPE_SYS"}}}},
    .steps = {{{Reach::Block, "", "", ""}, kScopes[1], kScopes[2]}}};
// clang-format on

} // namespace

const Model &modelOf(llvm::AMDGPU::IsaVersion isa) {
  switch (isa.Major) {
  case 9: return isa.Minor == 0 ? kGfx90a : kGfx940;
  case 10: return kGfx10;
  case 11: return kGfx11;
  case 12: return isa.Minor == 5 ? kGfx1250 : kGfx12;
  default: IMBREX_UNREACHABLE("no memory model is written down of gfx{0}", isa.Major);
  }
}

} // namespace imbrex::target::amdgpu
