#pragma once

#include <memory>
#include <string>
#include <utility>

#include "forebay/stats/store.h"
#include "store/percent.h"
#include "store/store.h"

namespace forebay::conformance {

/// Lets the conformance suite, whose keys are names, use a store whose keys are URLs.
class KeysBelowUrl final : public Store {
 public:
  KeysBelowUrl(std::shared_ptr<void> server, std::string root, std::shared_ptr<Store> inner)
      : server_(std::move(server)), root_(std::move(root)), inner_(std::move(inner)) {}
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    ReadRequest below = request;
    below.key = url(request.key);
    inner_->read(below, std::move(stop), std::move(done));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    inner_->list(request, std::move(stop), std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    inner_->stat(url(key), std::move(stop), [key, done = std::move(done)](Result<ObjectInfo> info) {
      if (info.ok()) info->key = key;
      done(std::move(info));
    });
  }
  std::string display_name(const std::string& key) const override { return inner_->display_name(url(key)); }
  StoreStats stats() const override { return inner_->stats(); }

 private:
  std::string url(const std::string& key) const { return root_ + percent_encode_path(key); }
  const std::shared_ptr<void> server_;
  const std::string root_;
  const std::shared_ptr<Store> inner_;
};

}  // namespace forebay::conformance
