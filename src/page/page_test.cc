#include "page/page.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace forebay {
namespace {

const std::string kEvil = "</script><script>alert(1)</script>\"'\xff";

TEST(Page, NoTextBecomesCode) {
  Page page{kEvil, kEvil, kEvil, kEvil, kEvil, {{kEvil, kEvil, kEvil}}, {}};
  page.sections.push_back(
      {kEvil,
       {Paragraph{kEvil}, Table{kEvil, {kEvil, kEvil}, {{kEvil, kEvil}}}, Bars{kEvil, {{kEvil, 1, kEvil}}},
        Curves{kEvil, PlotUnit::kCount, {1}, {{kEvil, {1}}}}, HistogramPlot{kEvil, PlotUnit::kBytes, {1}, {1, 1}}}});
  const std::string html = to_html(page);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("</script><script>alert"), std::string::npos);
  EXPECT_EQ(html.find('\xff'), std::string::npos);
  EXPECT_NE(html.find("&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(Page, WhatIsNotFiniteLeavesAGap) {
  const double inf = std::numeric_limits<double>::infinity();
  Page page;
  page.sections.push_back(
      {"s", {Bars{"b", {{"x", NAN, "-", -inf, inf}}}, Curves{"c", PlotUnit::kShare, {0, NAN}, {{"y", {inf, NAN}}}}}});
  const std::string html = to_html(page);
  EXPECT_NE(html.find("\"values\":[null,null]"), std::string::npos);
  EXPECT_EQ(html.find("width:nan"), std::string::npos);
  EXPECT_EQ(html.find("inf%"), std::string::npos);
  EXPECT_EQ(format_figure(NAN, PlotUnit::kBytes), "-");
}

}  // namespace
}  // namespace forebay
