#pragma once

#include <memory>
#include <string>

#include "store/http/http_transport.h"
#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"

namespace forebay {

/// Credentials of the container (AWS_CONTAINER_CREDENTIALS_*) or, where there is none, of the instance (its metadata service,
/// version 2), renewed before they expire. `looked` and `ways_out` are for the message that there are none.
Result<std::shared_ptr<CredentialsSource>> remote_credentials(const AwsEnvironment& environment,
                                                              std::shared_ptr<HttpTransport> transport,
                                                              std::string looked, std::string ways_out);

/// The answer of either service. Corrupt where it lacks what is needed; its text is in no message.
Result<Credentials> parse_credentials_json(std::string_view text);

}  // namespace forebay
