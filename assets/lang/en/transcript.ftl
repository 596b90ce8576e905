# transcript
