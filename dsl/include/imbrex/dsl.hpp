#pragma once

#include <imbrex/detail/compiler.hpp> // first, for the shortest message

/// The language: all that a kernel's author includes. docs/language.md is its reference.
#include <imbrex/atomics.hpp>
#include <imbrex/blocks.hpp>
#include <imbrex/box.hpp>
#include <imbrex/control.hpp>
#include <imbrex/convert.hpp>
#include <imbrex/create.hpp>
#include <imbrex/detail/host_functions.hpp>
#include <imbrex/division.hpp>
#include <imbrex/dot.hpp>
#include <imbrex/dot_scaled.hpp>
#include <imbrex/element.hpp>
#include <imbrex/error.hpp>
#include <imbrex/fast.hpp>
#include <imbrex/hints.hpp>
#include <imbrex/loop.hpp>
#include <imbrex/math.hpp>
#include <imbrex/memory.hpp>
#include <imbrex/observe.hpp>
#include <imbrex/random.hpp>
#include <imbrex/reduce.hpp>
#include <imbrex/scan.hpp>
#include <imbrex/shape.hpp>
#include <imbrex/shift.hpp>
#include <imbrex/sort.hpp>
#include <imbrex/table.hpp>
#include <imbrex/tile.hpp>
#include <imbrex/trace.hpp>
#include <imbrex/var.hpp>
#include <imbrex/view.hpp>
