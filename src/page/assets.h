#pragma once

#include <string_view>

namespace forebay {

/// Files that pages contain, and the live document. CMakeLists.txt compiles them in.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kLiveStyle;
extern const std::string_view kLiveBody;
extern const std::string_view kLiveScript;
extern const std::string_view kPlotStyle;
extern const std::string_view kPlotScript;
extern const std::string_view kPlotLicence;

}  // namespace forebay
