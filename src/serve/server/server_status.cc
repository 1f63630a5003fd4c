#include "serve/server/server_status.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace forebay {

namespace {

nlohmann::json to_json(const ClientStatus& client) {
  const double seconds = client.seconds;
  return {{"process", client.process},
          {"program", client.program},
          {"pipeline", client.pipeline},
          {"rank", client.rank},
          {"world_size", client.world_size},
          {"together", client.together},
          {"shares", client.shares},
          {"epoch", client.epoch},
          {"batches", client.batches},
          {"samples", client.samples},
          {"bytes", client.bytes},
          {"samples_per_second", seconds > 0 ? static_cast<double>(client.samples) / seconds : 0.0},
          {"seconds", seconds},
          {"wait_seconds", client.waited},
          {"held_batches", client.held},
          {"held_bytes", client.held_bytes}};
}

nlohmann::json to_json(const TogetherCounts& together) {
  return {{"batches_made", together.computed},
          {"batches_given", together.delivered},
          {"batches_saved", together.delivered - std::min(together.delivered, together.computed)}};
}

// Clients with a cache at the same place share it, so its hits count once.
uint64_t cache_hits_of(const std::vector<ClientStatus>& clients) {
  std::map<std::string, uint64_t> hits;
  for (const ClientStatus& client : clients) {
    for (const auto& [place, count] : client.cache_hits) hits[place] = std::max(hits[place], count);
  }
  uint64_t sum = 0;
  for (const auto& [place, count] : hits) sum += count;
  return sum;
}

}  // namespace

std::string to_json_text(const ServerStatus& status) {
  nlohmann::json json;
  json["clients_served"] = status.clients_served;
  json["clients"] = nlohmann::json::array();
  for (const ClientStatus& client : status.clients) json["clients"].push_back(to_json(client));
  json["process"] = getpid();
  json["socket"] = status.socket;
  json["seconds"] = status.seconds;
  json["threads"] = status.threads;
  json["batch_memory_bytes"] = status.batch_memory_bytes;
  json["together"] = to_json(status.together);
  json["cache_hits"] = cache_hits_of(status.clients);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace forebay
