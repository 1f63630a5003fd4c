#pragma once

namespace forebay {

/// What CMake knew when it configured this build. CMakeLists.txt has the version, and nothing else.
struct Build {
  const char* version;   ///< such as "0.1.0"
  const char* revision;  ///< hash of the commit; empty if the source was in no git repository
  const char* compiler;  ///< such as "GNU 12.2.0"
};
const Build& build();

}  // namespace forebay
