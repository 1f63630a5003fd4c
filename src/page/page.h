#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "page/figure.h"

namespace forebay {

/// Text under a heading.
struct Paragraph {
  std::string text;
};

/// A table. The first column names the row. Cells of other columns that begin with a digit are
/// aligned to the right.
struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells each as there are columns
};

/// A named value. `low` and `high` are the bounds of its uncertainty, if there is any.
struct Bar {
  std::string label;
  double value = 0;
  std::string text;  ///< the value as text, with its uncertainty
  std::optional<double> low = {}, high = {};
};

/// Bars on one scale that begins at 0. They need no script.
struct Bars {
  std::string caption;
  std::vector<Bar> bars;
  std::optional<double> full = {};  ///< end of the scale; by default the largest value
  std::optional<double> mark = {};  ///< reference value, drawn as a line through all bars
};

struct Series {
  std::string name;
  std::vector<double> values;  ///< one per entry of `seconds`; a value that is not finite is a gap
};

/// Curves over time. A browser without scripts shows a table instead.
struct Curves {
  std::string caption;
  PlotUnit unit = PlotUnit::kCount;
  std::vector<double> seconds;
  std::vector<Series> series;
};

/// Distribution of a value. There is one count more than bounds: the last counts values above all
/// bounds.
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

/// A number that is shown at the top of the page.
struct Fact {
  std::string label, value, note;
};

/// Content of a report: the finding, what to do about it, a few figures, and then sections. All
/// texts are plain text and may contain any bytes.
struct Page {
  std::string title = {};     ///< "forebay run"
  std::string subject = {};   ///< what the report is about: the pipeline's file
  std::string finding = {};   ///< one sentence
  std::string action = {};    ///< one sentence; left out if empty
  std::string footnote = {};  ///< origin of the figures
  std::vector<Fact> facts = {};
  std::vector<Section> sections = {};
};

/// Returns a self-contained HTML document with style, scripts and the plotting library, which
/// fetches nothing. Tables and bars work without scripts. The result depends only on the page.
std::string to_html(const Page& page);

}  // namespace forebay
