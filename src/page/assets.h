#pragma once

#include <string_view>

namespace forebay {

/// Style sheets and scripts that html.cc puts into each HTML report and into the live document, so
/// that each is a single file that needs no network. CMake makes assets.cc of assets.cc.in.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kLiveStyle;
extern const std::string_view kLiveBody;
extern const std::string_view kLiveScript;

/// uPlot, which draws the plots, and its licence, which each copy must include (THIRD_PARTY.md).
extern const std::string_view kPlotStyle;
extern const std::string_view kPlotScript;
extern const std::string_view kPlotLicence;

}  // namespace forebay
