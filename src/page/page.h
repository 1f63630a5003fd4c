#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace forebay {

/// Unit of the numbers of a plot, which decides how they are formatted.
enum class PlotUnit { kCount, kBytes, kSeconds, kShare, kPerSecond, kBytesPerSecond };

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

/// A step of a chain, and the arrow that leads from it to the next step.
struct ChainStep {
  std::string name, note;
  std::optional<double> share = {};         ///< part of the whole that this step takes, 0 to 1
  std::string arrow = {}, arrow_note = {};  ///< texts above and below the arrow
  double weight = 0;                        ///< thickness of the arrow, 0 to 1
};

/// A graph of steps in a row, which needs no script. The last step has no arrow.
struct Chain {
  std::string caption;
  std::vector<ChainStep> steps;
};

using Block = std::variant<Paragraph, Table, Bars, Curves, HistogramPlot, Chain>;

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

/// Returns the document that shows pages as they change. It contains no figures: its script asks
/// the server that it came from for them, with the token behind the `#` of its address. `nonce`
/// marks its scripts for a Content-Security-Policy.
std::string live_document(std::string_view nonce);
/// Returns the page as JSON for the live document: texts, sections as HTML without scripts, and
/// data of plots. Bytes that are not UTF-8 become U+FFFD.
std::string to_live_json(const Page& page);

/// Formats a value as pages show it: "12.0 %", "3.4 MiB/s", "250 ms"; "-" if it is not finite.
std::string format_figure(double value, PlotUnit unit);

}  // namespace forebay
