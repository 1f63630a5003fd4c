#include <string>
#include <utility>

#include <fmt/format.h>

#include "study/profile_words.h"
#include "study/report/pages.h"
#include "study/report/parts_section.h"

namespace forebay {

namespace {

std::string weights_text(const ProfileWeights& weights) {
  return fmt::format("preparing {:g}, room {:g}, speed {:g}", weights.preparation, weights.storage, weights.throughput);
}

Section speeds_section(const Profile& profile) {
  Bars bars{
      "Samples a second in the epochs after the first; the upright line is with nothing kept, the range is of 95 %",
      {}};
  bars.mark = profile.unchanged()->rate.value;
  for (const Strategy& strategy : profile.strategies)
    bars.bars.push_back(
        {name_text(strategy), strategy.rate.value, rate_text(strategy), strategy.rate.low, strategy.rate.high});
  return {"Speed, the best first", {std::move(bars)}};
}

Section room_section(const Profile& profile) {
  Bars bars{"Bytes that all samples take", {}};
  for (const Strategy& strategy : profile.strategies) {
    if (strategy.tier == StrategyTier::kNothing) continue;
    bars.bars.push_back(
        {strategy.name, strategy.bytes.value, bytes_text(strategy), strategy.bytes.low, strategy.bytes.high});
  }
  return {"Room", {std::move(bars)}};
}

Section table_section(const Profile& profile) {
  Table table{
      "", {"strategy", "samples/s (95 %)", "preparing", "takes", "pays off after epochs", "score", "unbeaten"}, {}};
  for (const Strategy& strategy : profile.strategies)
    table.rows.push_back({name_text(strategy), rate_text(strategy), duration_text(strategy.preparation_seconds.value),
                          bytes_text(strategy), pays_text(strategy), fmt::format("{:.2f}", strategy.score),
                          strategy.best_of_its_kind ? "yes" : "no"});
  return {"All that was tried",
          {Paragraph{"Unbeaten: no other is better in speed, room or preparing and as good in the others."},
           std::move(table)}};
}

}  // namespace

Page profile_page(const Profile& profile, const std::string& subject) {
  Page page{.title = "Forebay profile", .subject = subject};
  const Strategy& best = profile.strategies.front();
  page.finding = gain_sentence(profile);
  page.action = best.command;
  page.footnote = tried_sentence(profile) + ". What is tried, and how: docs/reference/profile.md.";
  page.facts = {{"speed", fmt::format("{:.0f} samples/s", best.rate.value), best.name},
                {"takes", bytes_text(best), "of all samples"},
                {"preparing", duration_text(best.preparation_seconds.value),
                 best.tier == StrategyTier::kFiles ? "before the first epoch" : "the first epoch"},
                {"weights", weights_text(profile.weights), ""}};
  page.sections = {speeds_section(profile)};
  if (profile.strategies.size() > 1) page.sections.push_back(room_section(profile));
  page.sections.push_back(table_section(profile));
  if (!profile.parts.empty()) page.sections.push_back(parts_section(costs_of(profile)));
  if (!profile.others.empty()) {
    Section others{"Beside that", {}};
    for (const std::string& other : profile.others) others.blocks.push_back(Paragraph{other});
    page.sections.push_back(std::move(others));
  }
  return page;
}

}  // namespace forebay
