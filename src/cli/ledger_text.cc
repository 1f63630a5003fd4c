#include "cli/ledger_text.h"

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/ledger.h"

namespace forebay {
namespace {

std::string in_unit(double value, std::string_view unit) {
  if (unit == "bytes") return format_byte_size(static_cast<uint64_t>(value));
  return unit == "seconds" ? fmt::format("{:.3g} s", value) : fmt::format("{:.3g}", value);
}

class TextView final : public LedgerVisitor {
 public:
  void number(const Figure& figure, FigureNumber value) override {
    const auto say = [&](auto number) {
      if constexpr (std::is_floating_point_v<decltype(number)>) return in_unit(number, figure.unit);
      return figure.unit.empty() ? fmt::format("{}", number) : in_unit(static_cast<double>(number), figure.unit);
    };
    line(figure, std::visit(say, value));
  }
  void text(const Figure& figure, const std::string& value) override {
    if (!value.empty()) line(figure, value);
  }
  void tally(const Figure& figure, const std::map<uint32_t, int64_t>& value) override {
    std::vector<std::string> parts;
    for (const auto& [times, count] : value) parts.push_back(fmt::format("{} × {}", count, times));
    line(figure, fmt::format("{}", fmt::join(parts, ", ")));
  }
  void histogram(const Figure& figure, const Histogram& value) override {
    std::vector<std::string> parts;
    for (size_t i = 0; i < value.counts.size(); ++i) {
      if (value.counts[i] == 0) continue;
      const bool above = i == value.bounds.size();
      parts.push_back(fmt::format("{} {} {}", value.counts[i], above ? "above" : "to",
                                  in_unit(value.bounds[above ? i - 1 : i], figure.unit)));
    }
    if (!parts.empty()) line(figure, fmt::format("{}", fmt::join(parts, ", ")));
  }
  void begin(const FigureGroup& group) override { within_.push_back({std::string(group.name), -1}); }
  void end(const FigureGroup&) override { within_.pop_back(); }
  void begin_item() override { ++within_.back().second; }
  void end_item() override {}
  std::string take() { return std::move(text_); }

 private:
  void line(const Figure& figure, const std::string& value) {
    std::string name;
    for (const auto& [group, item] : within_) name += item < 0 ? group + "." : fmt::format("{}[{}].", group, item);
    text_ += fmt::format("{:<36} {}\n", name + std::string(figure.name), value);
  }

  std::string text_;
  std::vector<std::pair<std::string, int>> within_;
};

}  // namespace

std::string to_text(const Ledger& ledger) {
  TextView view;
  visit(ledger, view);
  return view.take();
}

}  // namespace forebay
