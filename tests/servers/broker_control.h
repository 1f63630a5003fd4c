#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "format/files/open_store.h"
#include "servers/variable.h"
#include "store/store.h"

namespace forebay::conformance {

/// Orders something of a broker ("kill", "start", "pause", "resume"), and returns when that is done.
inline void order(const std::string& control_variable, const std::string& what) {
  const auto place = open_store(variable(control_variable) + "/" + what);
  ASSERT_TRUE(place.ok()) << place.status().to_string();
  ReadRequest request;
  request.key = place->path;
  const auto answer = read_wait(*place->store, request, {});
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
}

}  // namespace forebay::conformance
