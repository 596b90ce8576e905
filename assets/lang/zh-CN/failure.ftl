# failure
