#pragma once

#include <chrono>
#include <stop_token>

namespace forebay {

/// Waits for that time. Returns false at once if a stop is requested.
bool pause_for(std::chrono::nanoseconds time, std::stop_token stop);

}  // namespace forebay
