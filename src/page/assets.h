#pragma once

#include <string_view>

namespace forebay {

/// Files that each page contains. CMakeLists.txt compiles them in.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kPlotStyle;
extern const std::string_view kPlotScript;
extern const std::string_view kPlotLicence;

}  // namespace forebay
