#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "study/report/pages.h"
#include "study/report/parts_section.h"

namespace forebay {

namespace {

std::string gain_text(const Gain& gain) {
  return fmt::format("{:.2f} times as fast ({:.2f} to {:.2f})", gain.middle, gain.low, gain.high);
}

Bar gain_bar(std::string label, const Gain& gain) {
  return {std::move(label), gain.middle, gain_text(gain), gain.low, gain.high};
}

// A range that includes no gain is not reliable.
std::string confidence_of(const Gain& gain) {
  if (gain.low <= 1) return "low: one round gained nothing";
  return gain.high - gain.low <= 0.15 * gain.middle ? "high: the rounds agree within 15 %"
                                                    : "middle: all rounds gained, not alike";
}

std::string action_of(const Diagnosis& diagnosis) {
  if (diagnosis.first.limit == Limit::kTrainer) return "Nothing here.";
  if (diagnosis.remedies.empty()) return "No change that was tried here gains 5 % or more.";
  const Remedy& best = diagnosis.remedies.front();
  return fmt::format("{}: {}.", best.change, gain_text(best.gain));
}

Section remedies_section(const Diagnosis& diagnosis) {
  Section section{"Changes, the best first", {}};
  if (diagnosis.remedies.empty()) {
    section.blocks.push_back(Paragraph{action_of(diagnosis)});
    return section;
  }
  Bars bars{"Times as fast; the upright line is as it is now, the range is of three rounds", {}};
  bars.mark = 1;
  Table table{"", {"change", "gain", "least", "most", "confidence", "a cache takes"}, {}};
  for (const Remedy& remedy : diagnosis.remedies) {
    bars.bars.push_back(gain_bar(remedy.change, remedy.gain));
    table.rows.push_back({remedy.change, fmt::format("{:.2f}", remedy.gain.middle),
                          fmt::format("{:.2f}", remedy.gain.low), fmt::format("{:.2f}", remedy.gain.high),
                          confidence_of(remedy.gain), remedy.bytes > 0 ? format_byte_size(remedy.bytes) : "-"});
  }
  if (diagnosis.verified) bars.bars.push_back(gain_bar("the first, measured again (verified)", *diagnosis.verified));
  section.blocks = {std::move(bars), std::move(table)};
  return section;
}

Section rates_section(const Diagnosis& diagnosis) {
  Bars bars{"Samples a second; the range is of the windows", {}};
  const auto rate = [](double middle, double low, double high) {
    return fmt::format("{:.0f} ({:.0f} to {:.0f})", middle, low, high);
  };
  const double now = diagnosis.rate, low = diagnosis.rate_low, high = diagnosis.rate_high;
  bars.bars.push_back({"the pipeline as it is", now, rate(now, low, high), low, high});
  if (!diagnosis.remedies.empty()) {
    const Gain& gain = diagnosis.remedies.front().gain;
    bars.bars.push_back({"with the first change (rate times gain)", now * gain.middle,
                         rate(now * gain.middle, now * gain.low, now * gain.high), now * gain.low, now * gain.high});
  }
  if (diagnosis.trainer_rate)
    bars.bars.push_back(
        {"what the trainer could take", *diagnosis.trainer_rate, fmt::format("{:.0f}", *diagnosis.trainer_rate)});
  return {"Rates", {std::move(bars)}};
}

Section limits_section(const Diagnosis& diagnosis) {
  Table table{"", {"limit", "waited for it", "how it was told"}, {}};
  const auto add = [&](const char* which, const Limiter& limiter) {
    table.rows.push_back({fmt::format("{}: {}", which, name_of(limiter.limit)),
                          format_figure(limiter.share, PlotUnit::kShare), limiter.sentence});
  };
  add("now", diagnosis.first);
  if (diagnosis.next) add("with the first change", *diagnosis.next);
  return {"The limit, and the next one", {std::move(table)}};
}

}  // namespace

Page diagnosis_page(const Diagnosis& diagnosis, const std::string& subject) {
  Page page{.title = "Forebay diagnosis", .subject = subject};
  page.finding = fmt::format("The limit is {}.", diagnosis.first.sentence);
  page.action = action_of(diagnosis);
  page.footnote = fmt::format(
      "Found in {:.0f} s. Gains are the median, least and most of rounds in turns with the pipeline as it is. "
      "What is tried, and how: docs/reference/diagnosis.md.",
      diagnosis.seconds);
  page.facts = {
      {"speed", fmt::format("{:.0f} samples/s", diagnosis.rate),
       fmt::format("{:.0f} to {:.0f}", diagnosis.rate_low, diagnosis.rate_high)},
      {"limit", std::string(name_of(diagnosis.first.limit)),
       fmt::format("{} of the time", format_figure(diagnosis.first.share, PlotUnit::kShare))},
      {"next limit", diagnosis.next ? std::string(name_of(diagnosis.next->limit)) : "-", "with the first change"}};
  page.sections = {remedies_section(diagnosis), rates_section(diagnosis), limits_section(diagnosis)};
  if (!diagnosis.parts.empty()) page.sections.push_back(parts_section(diagnosis.parts));
  if (!diagnosis.others.empty()) {
    Section others{"Beside that", {}};
    for (const std::string& other : diagnosis.others) others.blocks.push_back(Paragraph{other});
    page.sections.push_back(std::move(others));
  }
  return page;
}

}  // namespace forebay
