#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "page/assets.h"
#include "page/escape.h"
#include "page/page.h"

namespace forebay {

namespace {

using PlotJson = nlohmann::ordered_json;

std::string_view name_of(PlotUnit unit) {
  switch (unit) {
    case PlotUnit::kCount: return "count";
    case PlotUnit::kBytes: return "bytes";
    case PlotUnit::kSeconds: return "seconds";
    case PlotUnit::kShare: return "share";
    case PlotUnit::kPerSecond: return "per_second";
    case PlotUnit::kBytesPerSecond: return "bytes_per_second";
  }
  return "count";
}

// Returns a percentage that stays within the element for any values.
double percent_of(double value, double full) {
  if (!std::isfinite(value) || !std::isfinite(full) || full <= 0) return 0;
  return std::clamp(100 * value / full, 0.0, 100.0);
}

bool is_number(const std::string& cell) { return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0])); }

// Begins a document. The empty icon keeps browsers from asking a server for one.
std::string head_of(const std::string& title, std::string_view more_style = "") {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>\n{}\n{}\n{}</style>\n</head>\n<body>\n",
      escape_html(title), kPlotStyle, kPageStyle, more_style);
}

// The script that draws plots, and the library it uses.
std::string plot_scripts() { return fmt::format("/*\n{}*/\n{}\n{}", kPlotLicence, kPlotScript, kPageScript); }

// Numbers that are not finite become null, and bytes that are not UTF-8 become U+FFFD.
std::string dump(const PlotJson& json) { return json.dump(-1, ' ', false, PlotJson::error_handler_t::replace); }

class Writer {
 public:
  enum class PlotTables : uint8_t { kYes, kNo };

  explicit Writer(PlotTables tables) : tables_(tables) {}

  std::string page(const Page& page) {
    text_ = head_of(page.title + ": " + page.subject) + "<main>\n";
    add_header(page);
    for (const Section& section : page.sections) {
      text_ += fmt::format("<section>\n<h2>{}</h2>\n", escape_html(section.title));
      add_blocks(section);
      text_ += "</section>\n";
    }
    text_ += fmt::format("<footer>{}</footer>\n</main>\n", escape_html(page.footnote));
    if (!plots_.empty()) add_scripts();
    return std::move(text_) + "</body>\n</html>\n";
  }

  std::string json(const Page& page) {
    PlotJson json = {{"title", page.title},          {"subject", page.subject},   {"finding", page.finding},
                     {"action", page.action},        {"footnote", page.footnote}, {"facts", PlotJson::array()},
                     {"sections", PlotJson::array()}};
    for (const Fact& fact : page.facts)
      json["facts"].push_back({{"label", fact.label}, {"value", fact.value}, {"note", fact.note}});
    for (const Section& section : page.sections) {
      add_blocks(section);
      json["sections"].push_back({{"title", section.title}, {"html", std::exchange(text_, {})}});
    }
    json["plots"] = std::move(plots_);
    return dump(json);
  }

 private:
  void add_blocks(const Section& section) {
    for (const Block& block : section.blocks) std::visit([&](const auto& known) { add(known); }, block);
  }

  void add_header(const Page& page) {
    text_ += fmt::format("<header>\n<p class=\"kind\">{} <span>{}</span></p>\n<h1>{}</h1>\n", escape_html(page.title),
                         escape_html(page.subject), escape_html(page.finding));
    if (!page.action.empty())
      text_ += fmt::format("<p class=\"action\"><b>To change</b> {}</p>\n", escape_html(page.action));
    text_ += "<dl class=\"facts\">\n";
    for (const Fact& fact : page.facts)
      text_ += fmt::format("<div><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>\n", escape_html(fact.label),
                           escape_html(fact.value), escape_html(fact.note));
    text_ += "</dl>\n</header>\n";
  }

  void add_caption(const std::string& words) {
    if (!words.empty()) text_ += fmt::format("<h3>{}</h3>\n", escape_html(words));
  }

  void add(const Paragraph& paragraph) { text_ += fmt::format("<p>{}</p>\n", escape_html(paragraph.text)); }

  void add(const Table& table) {
    add_caption(table.caption);
    text_ += "<table>\n<thead><tr>";
    for (const std::string& column : table.columns)
      text_ += fmt::format("<th scope=\"col\">{}</th>", escape_html(column));
    text_ += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string>& row : table.rows) {
      text_ += "<tr>";
      for (size_t i = 0; i < row.size(); ++i) {
        if (i == 0)
          text_ += fmt::format("<th scope=\"row\">{}</th>", escape_html(row[i]));
        else
          text_ += fmt::format("<td{} data-column=\"{}\">{}</td>", is_number(row[i]) ? " class=\"number\"" : "",
                               escape_html(i < table.columns.size() ? table.columns[i] : ""), escape_html(row[i]));
      }
      text_ += "</tr>\n";
    }
    text_ += "</tbody>\n</table>\n";
  }

  void add(const Bars& bars) {
    add_caption(bars.caption);
    double full = bars.full.value_or(0);
    if (!bars.full) {
      for (const Bar& bar : bars.bars)
        for (const double end : {bar.value, bar.high.value_or(0), bars.mark.value_or(0)})
          if (std::isfinite(end)) full = std::max(full, end);
    }
    text_ += "<ul class=\"bars\">\n";
    for (const Bar& bar : bars.bars) {
      text_ += fmt::format(
          "<li><span class=\"label\">{}</span><span class=\"text\">{}</span><span class=\"track\">"
          "<span class=\"fill\" style=\"width:{:.2f}%\"></span>",
          escape_html(bar.label), escape_html(bar.text), percent_of(bar.value, full));
      if (bar.low && bar.high) {
        const double low = percent_of(*bar.low, full), high = percent_of(*bar.high, full);
        text_ += fmt::format("<span class=\"range\" style=\"left:{:.2f}%;width:{:.2f}%\"></span>", low,
                             std::max(high - low, 0.0));
      }
      if (bars.mark)
        text_ += fmt::format("<span class=\"mark\" style=\"left:{:.2f}%\"></span>", percent_of(*bars.mark, full));
      text_ += "</span></li>\n";
    }
    text_ += "</ul>\n";
  }

  void add(const Curves& curves) {
    PlotJson plot = {
        {"kind", "curves"}, {"unit", name_of(curves.unit)}, {"x", curves.seconds}, {"series", PlotJson::array()}};
    Table table{"", {"seconds"}, {}};
    for (const Series& series : curves.series) {
      plot["series"].push_back({{"name", series.name}, {"values", series.values}});
      table.columns.push_back(series.name);
    }
    for (size_t i = 0; i < curves.seconds.size(); ++i) {
      table.rows.push_back({fmt::format("{:.2f}", curves.seconds[i])});
      for (const Series& series : curves.series)
        table.rows.back().push_back(format_figure(i < series.values.size() ? series.values[i] : NAN, curves.unit));
    }
    add_plot(std::move(plot), curves.caption, table);
  }

  // Leaves out the empty ranges at both ends.
  void add(const HistogramPlot& histogram) {
    const auto& counts = histogram.counts;
    const auto is_positive = [](double count) { return count > 0; };
    const auto begin = static_cast<size_t>(std::find_if(counts.begin(), counts.end(), is_positive) - counts.begin());
    const auto end = static_cast<size_t>(counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_positive));
    if (begin >= end) {
      add_caption(histogram.caption);
      return add(Paragraph{"None so far."});
    }
    PlotJson plot = {{"kind", "histogram"}, {"labels", PlotJson::array()}, {"counts", PlotJson::array()}};
    Table table{"", {"up to", "how often"}, {}};
    for (size_t i = begin; i < end; ++i) {
      const std::string label =
          i < histogram.bounds.size() ? format_figure(histogram.bounds[i], histogram.unit) : "more";
      plot["labels"].push_back(label);
      plot["counts"].push_back(counts[i]);
      table.rows.push_back({label, format_figure(counts[i], PlotUnit::kCount)});
    }
    add_plot(std::move(plot), histogram.caption, table);
  }

  void add_plot(PlotJson plot, const std::string& name, const Table& table) {
    text_ += "<div class=\"figure\">\n";
    add_caption(name);
    text_ += fmt::format("<div class=\"plot\" data-plot=\"{}\" role=\"img\" aria-label=\"{}\"></div>\n", plots_.size(),
                         escape_html(name));
    plots_.push_back(std::move(plot));
    if (tables_ == PlotTables::kYes) {
      text_ += "<details><summary>as a table</summary>\n";
      add(table);
      text_ += "</details>\n";
    }
    text_ += "</div>\n";
  }

  void add(const Chain& chain) {
    add_caption(chain.caption);
    text_ += "<ol class=\"chain\">\n";
    for (size_t i = 0; i < chain.steps.size(); ++i) {
      text_ += "<li>";
      add_step(chain.steps[i]);
      if (i + 1 < chain.steps.size()) add_arrow(chain.steps[i]);
      text_ += "</li>\n";
    }
    text_ += "</ol>\n";
  }

  void add_step(const ChainStep& step) {
    text_ +=
        fmt::format("<span class=\"step\"><b>{}</b><span>{}</span>", escape_html(step.name), escape_html(step.note));
    if (step.share)
      text_ += fmt::format("<span class=\"track\"><span class=\"fill\" style=\"width:{:.2f}%\"></span></span>",
                           percent_of(*step.share, 1));
    text_ += "</span>";
  }

  void add_arrow(const ChainStep& from) {
    constexpr double kThinnest = 1.5, kThickest = 9;
    text_ += fmt::format(
        "<span class=\"arrow\"><span>{}</span><svg viewBox=\"0 0 64 20\" width=\"64\" height=\"20\" "
        "aria-hidden=\"true\">"
        "<path d=\"M0 10H54\" stroke-width=\"{:.1f}\"/><path class=\"head\" d=\"M52 2 64 10 52 18Z\"/></svg>"
        "<span>{}</span></span>",
        escape_html(from.arrow), kThinnest + (kThickest - kThinnest) * percent_of(from.weight, 1) / 100,
        escape_html(from.arrow_note));
  }

  void add_scripts() {
    // Without any "<" the JSON cannot end the script element.
    std::string json = dump(plots_);
    for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
    text_ += fmt::format(
        "<script type=\"application/json\" id=\"plots\">{}</script>\n<script>\n{}\n</script>\n<script>\n"
        "plotsIn(document).draw(JSON.parse(document.getElementById(\"plots\").textContent));\n</script>\n",
        json, plot_scripts());
  }

  PlotTables tables_;
  std::string text_;
  PlotJson plots_ = PlotJson::array();
};

std::string three_digits(double value) {
  return std::abs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Formats a value with the unit in which it is 1 to 999.
std::string scaled(double value, double step, std::initializer_list<std::string_view> units) {
  auto unit = units.begin();
  while (std::abs(value) >= step && unit + 1 != units.end()) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + std::string(*unit);
}

std::string format_seconds(double value) {
  if (value == 0 || value >= 1) return three_digits(value) + " s";
  return scaled(value * 1e6, 1000, {" µs", " ms", " s"});
}

}  // namespace

std::string to_html(const Page& page) { return Writer(Writer::PlotTables::kYes).page(page); }

// A table under each plot would be most of what is sent each second, and a page that has scripts
// shows the plot.
std::string to_live_json(const Page& page) { return Writer(Writer::PlotTables::kNo).json(page); }

std::string live_document(std::string_view nonce) {
  return head_of("Forebay", kLiveStyle) + std::string(kLiveBody) +
         fmt::format(
             "<script nonce=\"{0}\">\n{1}\n</script>\n<script nonce=\"{0}\">\n{2}\n</script>\n</body>\n</html>\n",
             escape_html(nonce), plot_scripts(), kLiveScript);
}

std::string format_figure(double value, PlotUnit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case PlotUnit::kCount: return fmt::format("{:.0f}", value);
    case PlotUnit::kBytes: return scaled(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
    case PlotUnit::kSeconds: return format_seconds(value);
    case PlotUnit::kShare: return fmt::format("{:.1f} %", 100 * value);
    case PlotUnit::kPerSecond: return three_digits(value) + "/s";
    case PlotUnit::kBytesPerSecond: return scaled(value, 1024, {" B/s", " KiB/s", " MiB/s", " GiB/s"});
  }
  return "-";
}

}  // namespace forebay
