#pragma once

#include "backend/target/host/plan/loop_plan.h"

namespace imbrex::host {

/// Before: the nests are known. After: steps of products say whether they keep b's panels, how many
/// trips of the loop around are one product and whether it ends with its factors, and which
/// view.store they do themselves
/// (`Step::product`); nests of such stores say by whom (`Step::storedBy`).
///
/// Blocks that follow each other along x often multiply other rows by the same columns: the panels
/// of b that one has made are the next one's, if nothing writes b's memory during the launch. Which
/// box they are of is asked when they are needed; the plan only leaves out what is never the same.
///
/// A loop that adds a product to one sum in each trip, of boxes that adjoin along k, is a deeper
/// product: its sums stay in registers over several trips.
///
/// Complete sums that a view.store alone takes go to its box at once, if that lies inside the view:
/// where its place is known before the product, and nothing else in the kernel tells when it
/// happens.
void planProducts(LoopPlan &plan, const ir::Kernel &kernel, const LaunchTraits &traits);

} // namespace imbrex::host
