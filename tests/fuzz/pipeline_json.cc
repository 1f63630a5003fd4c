// A pipeline from a stranger's file: it is read or refused with a reason, the check survives whatever was read, and what
// was read says the same after it is written and read again.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "forebay/pipeline.h"
#include "loader/describe/check.h"
#include "pipeline/description.h"

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using forebay::catalog, forebay::Pipeline;
  const auto read = Pipeline::from_json({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) {
    require(!read.status().message().empty(), "a refusal has a reason");
    return 0;
  }
  for (const forebay::Problem& problem : read->check()) {
    require(!problem.message.empty() && !problem.remedy.empty(), "a problem has a message and a remedy");
  }
  (void)read->to_string();

  const auto written = read->to_json();
  require(written.ok(), "what came from JSON can be written as JSON");
  const auto again = Pipeline::from_json(*written);
  require(again.ok(), "what was written can be read");
  require(again->description().fingerprint(catalog()) == read->description().fingerprint(catalog()),
          "writing and reading keeps the fingerprint");
  return 0;
}
