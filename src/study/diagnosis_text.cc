#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "forebay/diagnosis.h"
#include "study/part_costs.h"
#include "study/pipeline_json.h"

namespace forebay {

namespace {

Json to_json(const Limiter& limiter) {
  return {{"limit", name_of(limiter.limit)}, {"wait_share", limiter.share}, {"sentence", limiter.sentence}};
}

Json options_of(const LoaderOptions& options) {
  Json json = Json::object();
  json["threads"] = options.resources.threads ? Json(*options.resources.threads) : Json("auto");
  json["requests"] = options.resources.requests ? Json(*options.resources.requests) : Json("auto");
  json["memory"] = options.resources.memory ? Json(*options.resources.memory) : Json("auto");
  return json;
}

Json to_json(const Gain& gain) { return {{"gain", gain.middle}, {"gain_low", gain.low}, {"gain_high", gain.high}}; }

std::string verified_line(const Gain& said, const Gain& measured) {
  return fmt::format(
      "Verified: the first change, made and measured again, is {:.2f} times as fast ({:.2f} to {:.2f}); {:.2f} was "
      "said, {:+.0f} %.\n",
      measured.middle, measured.low, measured.high, said.middle, 100 * (said.middle / measured.middle - 1));
}

Json to_json(const Remedy& remedy) {
  return {{"change", remedy.change},
          {"gain", remedy.gain.middle},
          {"gain_low", remedy.gain.low},
          {"gain_high", remedy.gain.high},
          {"cache_bytes", remedy.bytes},
          {"options", options_of(remedy.options)},
          {"pipeline", description_json(remedy.pipeline)}};
}

}  // namespace

std::string to_json(const Diagnosis& diagnosis) {
  Json json = {{"forebay_diagnosis", 1},
               {"samples_per_second", diagnosis.rate},
               {"samples_per_second_low", diagnosis.rate_low},
               {"samples_per_second_high", diagnosis.rate_high},
               {"trainer_samples_per_second", diagnosis.trainer_rate ? Json(*diagnosis.trainer_rate) : Json()},
               {"limiter", to_json(diagnosis.first)},
               {"next_limiter", diagnosis.next ? to_json(*diagnosis.next) : Json()},
               {"parts", Json::array()},
               {"remedies", Json::array()},
               {"others", diagnosis.others},
               {"first_batch_seconds", diagnosis.first_batch_seconds},
               {"verified", diagnosis.verified ? to_json(*diagnosis.verified) : Json()},
               {"seconds", diagnosis.seconds}};
  for (const PartCost& part : diagnosis.parts) json["parts"].push_back(to_json(part));
  for (const Remedy& remedy : diagnosis.remedies) json["remedies"].push_back(to_json(remedy));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const Diagnosis& diagnosis) {
  std::string text = fmt::format("{:.0f} samples a second ({:.0f} to {:.0f})", diagnosis.rate, diagnosis.rate_low,
                                 diagnosis.rate_high);
  if (diagnosis.trainer_rate) text += fmt::format("; your trainer could take {:.0f}", *diagnosis.trainer_rate);
  text += fmt::format(".\nThe limit is {}.\n", diagnosis.first.sentence);
  text += parts_text(diagnosis.parts);
  if (diagnosis.first.limit == Limit::kTrainer) return text + "To change: nothing here.\n";
  if (diagnosis.remedies.empty()) text += "No change that was tried here gains 5 % or more.\n";
  if (!diagnosis.remedies.empty()) text += "To change, each tried here:\n";
  for (size_t i = 0; i < diagnosis.remedies.size(); ++i) {
    const Remedy& remedy = diagnosis.remedies[i];
    text += fmt::format("  {}. {:.2f} times as fast ({:.2f} to {:.2f}): {}", i + 1, remedy.gain.middle, remedy.gain.low,
                        remedy.gain.high, remedy.change);
    if (remedy.bytes > 0)
      text += fmt::format(", from the second epoch on; {} for all samples", format_byte_size(remedy.bytes));
    text += "\n";
  }
  if (diagnosis.verified) text += verified_line(diagnosis.remedies.front().gain, *diagnosis.verified);
  if (diagnosis.next) text += fmt::format("With the first of these the next limit is {}.\n", diagnosis.next->sentence);
  if (!diagnosis.others.empty()) text += "Beside that:\n";
  for (const std::string& other : diagnosis.others) text += fmt::format("  - {}\n", other);
  return text;
}

}  // namespace forebay
