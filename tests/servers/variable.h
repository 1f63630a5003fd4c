#pragma once

#include <cstdlib>
#include <string>

namespace forebay::conformance {

/// What with_servers says of the servers it started; empty where it did not.
inline std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace forebay::conformance
