#pragma once

namespace forebay {

/// Facts that CMake knew when it configured this build. CMakeLists.txt alone has the version.
struct Build {
  const char* version;   ///< such as "0.1.0"
  const char* revision;  ///< hash of the commit; empty if the source was in no git repository
  const char* compiler;  ///< such as "GNU 12.2.0"
};
const Build& build();

}  // namespace forebay
