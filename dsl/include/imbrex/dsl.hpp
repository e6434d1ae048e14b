#pragma once

/// The language: all that a kernel's author includes. docs/language.md is its reference.
#include <imbrex/control.hpp>
#include <imbrex/convert.hpp>
#include <imbrex/create.hpp>
#include <imbrex/dot.hpp>
#include <imbrex/element.hpp>
#include <imbrex/error.hpp>
#include <imbrex/math.hpp>
#include <imbrex/tile.hpp>
#include <imbrex/trace.hpp>
#include <imbrex/var.hpp>
#include <imbrex/view.hpp>
