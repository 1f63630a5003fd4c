#include "page/page.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "page/escape.h"

namespace forebay {
namespace {

const std::string kEvil = "</script><script>alert(1)</script>\"'\xff";

TEST(Page, NoTextBecomesCode) {
  Page page{kEvil, kEvil, kEvil, kEvil, kEvil, {{kEvil, kEvil, kEvil}}, {}};
  page.sections.push_back(
      {kEvil,
       {Paragraph{kEvil}, Table{kEvil, {kEvil, kEvil}, {{kEvil, kEvil}}}, Bars{kEvil, {{kEvil, 1, kEvil}}},
        Curves{kEvil, PlotUnit::kCount, {1}, {{kEvil, {1}}}}, HistogramPlot{kEvil, PlotUnit::kBytes, {1}, {1, 1}},
        Chain{kEvil, {{kEvil, kEvil, 1, kEvil, kEvil, 1}, {kEvil, kEvil}}}}});
  const nlohmann::json live = nlohmann::json::parse(to_live_json(page));
  ASSERT_EQ(live["sections"].size(), 1u);
  for (const auto& section : live["sections"])
    EXPECT_EQ(section["html"].get<std::string>().find("<script"), std::string::npos);
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

std::string html_of(Block block) {
  Page page;
  page.sections.push_back({"section", {std::move(block)}});
  return to_html(page);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the JSON from which the script draws.
nlohmann::json plots_of(const std::string& html) {
  const std::string before = "<script type=\"application/json\" id=\"plots\">";
  const size_t begin = html.find(before) + before.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(Page, WithoutPlotsThereIsNoScript) {
  EXPECT_FALSE(has(html_of(Paragraph{"words"}), "<script"));
  EXPECT_TRUE(has(html_of(Curves{"c", PlotUnit::kCount, {1, 2}, {{"y", {3, 4}}}}), "<script"));
}

TEST(Page, IsTheSameEachTime) {
  const Curves curves{"c", PlotUnit::kCount, {1, 2}, {{"y", {3, 4}}}};
  EXPECT_EQ(html_of(curves), html_of(curves));
}

TEST(Page, FetchesNothing) {
  const std::string html = html_of(Curves{"c", PlotUnit::kCount, {1, 2}, {{"y", {3, 4}}}});
  for (const char* way : {"src=\"http", "@import", "url(http", "href=\"http"}) EXPECT_FALSE(has(html, way)) << way;
}

TEST(Page, TheRowOfATableIsNamedByItsFirstCellAndNumbersAreToldFromWords) {
  const std::string html = html_of(Table{"files", {"what", "figure", "why"}, {{"reads", "12", "so"}}});
  EXPECT_TRUE(has(html, "<th scope=\"row\">reads</th>"));
  EXPECT_TRUE(has(html, "<td class=\"number\" data-column=\"figure\">12</td>"));
  EXPECT_TRUE(has(html, "<td data-column=\"why\">so</td>"));
}

TEST(Page, ARowWithMoreCellsThanColumnsIsWrittenAllTheSame) {
  EXPECT_TRUE(has(html_of(Table{"", {"one"}, {{"a", "b", "c"}}}), "<td data-column=\"\">c</td>"));
}

TEST(Page, BarsAreLengthsOnOneScale) {
  const std::string html = html_of(Bars{"b", {{"half", 5, "5"}, {"whole", 10, "10"}, {"nothing", 0, "0"}}});
  for (const char* width : {"width:50.00%", "width:100.00%", "width:0.00%"}) EXPECT_TRUE(has(html, width)) << width;
}

TEST(Page, ARangeThatIsLongerThanTheBarsMakesTheScaleAsLong) {
  const std::string html = html_of(Bars{"b", {{"x", 5, "5", 2.5, 10}}});
  EXPECT_TRUE(has(html, "width:50.00%"));
  EXPECT_TRUE(has(html, "left:25.00%;width:75.00%"));
}

TEST(Page, ABarBeyondAGivenScaleEndsWithIt) {
  const std::string html = html_of(Bars{"b", {{"x", 30, "30"}, {"y", -3, "-3"}}, 10});
  EXPECT_TRUE(has(html, "width:100.00%"));
  EXPECT_TRUE(has(html, "width:0.00%"));
}

TEST(Page, BarsOfNothingAreBarsWithoutLength) {
  EXPECT_TRUE(has(html_of(Bars{"b", {{"x", 0, "0"}}}), "width:0.00%"));
  EXPECT_TRUE(has(html_of(Bars{"b", {}, 0}), "<ul class=\"bars\">"));
}

TEST(Page, AHistogramHasNoEmptyRangesAtItsEndsAndSaysWhatLiesAboveAllBounds) {
  const nlohmann::json plot =
      plots_of(html_of(HistogramPlot{"h", PlotUnit::kBytes, {1, 1024, 2048, 4096}, {0, 3, 0, 0, 2}})).front();
  EXPECT_EQ(plot["labels"], nlohmann::json({"1 KiB", "2 KiB", "4 KiB", "more"}));
  EXPECT_EQ(plot["counts"], nlohmann::json({3, 0, 0, 2}));
}

TEST(Page, AHistogramOfNothingIsASentence) {
  const std::string html = html_of(HistogramPlot{"h", PlotUnit::kBytes, {1, 2}, {0, 0, 0}});
  EXPECT_TRUE(has(html, "None so far."));
  EXPECT_FALSE(has(html, "<script"));
}

TEST(Page, CurvesStandAsATableToo) {
  const std::string html = html_of(Curves{"c", PlotUnit::kShare, {0.5, 1}, {{"a", {0.25}}, {"b", {1, 0}}}});
  EXPECT_TRUE(has(html, "<th scope=\"row\">0.50</th>"));
  EXPECT_TRUE(has(html, "data-column=\"a\">25.0 %</td>"));
  EXPECT_TRUE(has(html, "data-column=\"a\">-</td>")) << "a series that is too short has a gap";
  EXPECT_EQ(plots_of(html).front()["series"][1]["values"], nlohmann::json({1, 0}));
}

TEST(Page, CurvesOfNothingAreAPlotWithoutSeries) {
  const nlohmann::json plot = plots_of(html_of(Curves{"c", PlotUnit::kCount, {1, 2}, {}})).front();
  EXPECT_EQ(plot["series"], nlohmann::json::array());
}

TEST(Page, AChainHasAnArrowBetweenItsStepsThatIsThickerWhereMoreTimeIs) {
  const std::string html = html_of(Chain{"c",
                                         {{"read", "2 MiB/s", {}, "3 ms/read", "", 0},
                                          {"decode", "", 0.5, "", "", 1},
                                          {"trainer", "", {}, "none", "none"}}});
  EXPECT_TRUE(has(html, "<b>read</b><span>2 MiB/s</span>"));
  EXPECT_TRUE(has(html, "<span>3 ms/read</span><svg"));
  EXPECT_TRUE(has(html, "stroke-width=\"1.5\"") && has(html, "stroke-width=\"9.0\""));
  EXPECT_TRUE(has(html, "width:50.00%")) << "the share of the second step";
  EXPECT_FALSE(has(html, ">none<")) << "nothing follows the last step";
}

TEST(Page, LiveJsonHasAllPartsAndNoTablesOfPlots) {
  Page page{
      .title = "t", .subject = "s\xff", .finding = "f", .action = "a", .footnote = "n", .facts = {{"l", "v", "x"}}};
  page.sections.push_back({"one", {Curves{"c", PlotUnit::kShare, {1, 2}, {{"y", {3, NAN}}}}}});
  page.sections.push_back({"two", {HistogramPlot{"h", PlotUnit::kBytes, {1}, {1, 1}}, Paragraph{"a < b"}}});
  const auto json = nlohmann::json::parse(to_live_json(page));
  EXPECT_EQ(json["subject"], "s\xef\xbf\xbd");
  EXPECT_EQ(json["facts"][0], nlohmann::json({{"label", "l"}, {"value", "v"}, {"note", "x"}}));
  EXPECT_TRUE(has(json["sections"][0]["html"], "data-plot=\"0\""));
  EXPECT_FALSE(has(json["sections"][0]["html"], "<table"));
  EXPECT_TRUE(has(json["sections"][1]["html"], "data-plot=\"1\"") && has(json["sections"][1]["html"], "a &lt; b"));
  EXPECT_EQ(json["plots"][0]["series"][0]["values"], nlohmann::json({3, nullptr}));
  EXPECT_EQ(json["plots"][1]["kind"], "histogram");
}

TEST(Page, TheLiveDocumentFetchesNothingFromElsewhereAndMarksItsScripts) {
  const std::string html = live_document("a\"b");
  for (const char* way : {"src=\"http", "@import", "url(http", "href=\"http"}) EXPECT_FALSE(has(html, way)) << way;
  EXPECT_TRUE(has(html, "<script nonce=\"a&quot;b\">"));
  EXPECT_FALSE(has(html, "<script>")) << "a script without the mark would not run";
}

TEST(Page, WhatToDoStandsThereOnlyWhereThereIsSomething) {
  Page page{.title = "Forebay run", .finding = "The limit is the trainer."};
  EXPECT_FALSE(has(to_html(page), "To change"));
  page.action = "Nothing.";
  EXPECT_TRUE(has(to_html(page), "<b>To change</b> Nothing."));
}

TEST(Page, FiguresAreShortAndHaveTheirUnit) {
  const std::tuple<double, PlotUnit, const char*> figures[] = {
      {0, PlotUnit::kBytes, "0 B"},
      {1023, PlotUnit::kBytes, "1023 B"},
      {1536, PlotUnit::kBytes, "1.5 KiB"},
      {5e15, PlotUnit::kBytes, "4547 TiB"},
      {0, PlotUnit::kSeconds, "0 s"},
      {2e-6, PlotUnit::kSeconds, "2 µs"},
      {0.0125, PlotUnit::kSeconds, "12.5 ms"},
      {90, PlotUnit::kSeconds, "90 s"},
      {0.5, PlotUnit::kShare, "50.0 %"},
      {1234.4, PlotUnit::kPerSecond, "1234/s"},
      {2048, PlotUnit::kBytesPerSecond, "2 KiB/s"},
      {7, PlotUnit::kCount, "7"},
      {-std::numeric_limits<double>::infinity(), PlotUnit::kCount, "-"},
  };
  for (const auto& [value, unit, text] : figures) EXPECT_EQ(format_figure(value, unit), text);
}

// Returns whether a text is UTF-8 (RFC 3629).
bool is_utf8(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) == [&] {
    try {
      return nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
      return std::string();
    }
  }();
}

TEST(Page, AnyBytesBecomeTextThatIsNoMarkup) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    for (int length = static_cast<int>(random() % 40); length > 0; --length) bytes += static_cast<char>(random() % 256);
    const std::string safe = escape_html(bytes);
    EXPECT_TRUE(is_utf8(safe)) << trial;
    EXPECT_EQ(safe.find_first_of("<>\"'"), std::string::npos) << safe;
    for (const char c : safe) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r');
  }
}

TEST(Page, TextThatIsHarmlessStaysAsItIs) {
  for (const char* text : {"", "photos/train", "größer als 3 µs", "日本語", "𝄞 clef"})
    EXPECT_EQ(escape_html(text), text);
  EXPECT_EQ(escape_html("a & b < c"), "a &amp; b &lt; c");
}

}  // namespace
}  // namespace forebay
