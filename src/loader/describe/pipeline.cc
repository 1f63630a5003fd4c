#include "forebay/pipeline.h"

#include "loader/describe/check.h"
#include "loader/describe/described_values.h"
#include "loader/describe/open_source.h"
#include "loader/describe/user_code.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {

Pipeline::Pipeline() : description_(std::make_shared<const Description>()) {}
Pipeline::Pipeline(std::shared_ptr<const Description> description) : description_(std::move(description)) {}

Pipeline Pipeline::map(MapFunction function, MapOptions options) const {
  auto attachment = std::make_shared<MapAttachment>(MapAttachment{std::move(function)});
  return with_step(*this, "map",
                   {{"fields", field_json(options.fields)},
                    {"adds", field_json(options.adds)},
                    {"version", text_or_none(std::move(options.version))}},
                   std::move(attachment), "<" + options.name + ">");
}

Pipeline Pipeline::filter(FilterFunction function, FilterOptions options) const {
  auto attachment = std::make_shared<FilterAttachment>(FilterAttachment{std::move(function)});
  return with_step(*this, "filter", {{"fields", field_json(options.fields)}}, std::move(attachment),
                   "<" + options.name + ">");
}

std::vector<Problem> Pipeline::check() const { return forebay::check(*description_); }

Result<std::vector<std::string>> Pipeline::classes(std::stop_token stop) const {
  if (description_->steps().empty()) return problems_as_status(check());
  return class_names(description_->steps().front(), {.storage_options = {}, .stop = std::move(stop)});
}

std::string Pipeline::to_string() const { return description_->to_string(); }
Result<std::string> Pipeline::to_json() const { return description_->to_json(); }

Result<Pipeline> Pipeline::from_json(std::string_view text) {
  FOREBAY_ASSIGN(Description description, Description::from_json(text));
  return Pipeline(std::make_shared<const Description>(std::move(description)));
}

}  // namespace forebay
