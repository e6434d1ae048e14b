#pragma once

/// The runtime: devices, memory, launches.
#include <imbrex/buffer.hpp>
#include <imbrex/cache.hpp>
#include <imbrex/device.hpp>
#include <imbrex/device_buffer.hpp>
#include <imbrex/grid.hpp>
#include <imbrex/launch.hpp>
#include <imbrex/launch_hook.hpp>
#include <imbrex/log.hpp>
#include <imbrex/pinned_buffer.hpp>
#include <imbrex/stream.hpp>
#include <imbrex/tensor_ref.hpp>
