#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace forebay {

/// What the numbers of a plot are, and so how they are written.
enum class PlotUnit { kCount, kBytes, kSeconds, kShare, kPerSecond, kBytesPerSecond };

/// Text under a heading.
struct Paragraph {
  std::string text;
};

/// The first column names the row; what begins with a digit in the others is set to the right.
struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells each as there are columns
};

/// A length with a name; `low` and `high` say how uncertain it is, where it is.
struct Bar {
  std::string label;
  double value = 0;
  std::string text;  ///< the value for people, with its uncertainty
  std::optional<double> low = {}, high = {};
};

/// Bars on one scale from 0 on; drawn without a script.
struct Bars {
  std::string caption;
  std::vector<Bar> bars;
  std::optional<double> full = {};  ///< the end of the scale; else the largest value
  std::optional<double> mark = {};  ///< a line through all bars: what they are compared with
};

struct Series {
  std::string name;
  std::vector<double> values;  ///< as many as there are x; what is not finite leaves a gap
};

/// Lines over time. Without scripts a table stands in their place.
struct Curves {
  std::string caption;
  PlotUnit unit = PlotUnit::kCount;
  std::vector<double> seconds;
  std::vector<Series> series;
};

/// How often values of which size occurred: one count more than there are bounds, the last of what lies above all of them.
struct HistogramPlot {
  std::string caption;
  PlotUnit unit = PlotUnit::kCount;
  std::vector<double> bounds;
  std::vector<double> counts;
};

using Block = std::variant<Paragraph, Table, Bars, Curves, HistogramPlot>;

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

/// A number worth to be seen first.
struct Fact {
  std::string label, value, note;
};

/// What a report says, first what matters most: the limit, what to do about it, a few figures; then sections. All texts are plain: any
/// byte may stand in them.
struct Page {
  std::string title = {};     ///< "forebay run"
  std::string subject = {};   ///< of what: the pipeline's file
  std::string finding = {};   ///< one sentence
  std::string action = {};    ///< one sentence; empty: nothing stands there
  std::string footnote = {};  ///< where the figures come from
  std::vector<Fact> facts = {};
  std::vector<Section> sections = {};
};

/// One HTML document that needs nothing else: style, scripts and the plotting library are in it, and nothing is fetched. Its tables and
/// bars are there without scripts. A function of the page alone.
std::string to_html(const Page& page);

/// As pages write it: "12 %", "3.4 MB/s", "250 ms"; "-" for what is not finite.
std::string format_figure(double value, PlotUnit unit);

}  // namespace forebay
