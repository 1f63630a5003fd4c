#pragma once

#include <string_view>

namespace forebay {

/// Files that each page contains, compiled in: see CMakeLists.txt.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kPlotStyle;
extern const std::string_view kPlotScript;
extern const std::string_view kPlotLicence;

}  // namespace forebay
