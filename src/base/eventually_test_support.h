#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace forebay {

/// Waits for an event that must come: until `holds()` returns true. Returns false only after two
/// minutes, when the event can be taken for lost. What must not happen cannot be tested with it.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace forebay
